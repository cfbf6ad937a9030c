"""The protocol's methods as typed coroutines, in a file for each topic; `Daemon` has all of them.

Params are arguments and results are structs; entries, messages and other JSON are plain Python values. All files but
`base`, `append` and `blobs` are generated from the table of methods.
"""
