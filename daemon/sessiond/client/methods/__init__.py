"""The protocol's methods as typed coroutines, a file for each topic; `Daemon` has all of them.

Params are arguments and results are structs; entries, messages and other JSON are plain Python values. All files are
generated from the table of methods, but `base`, `append` and `blobs`.
"""
