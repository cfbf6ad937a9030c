"""The doctor: examines all files of sessiond, reports problems, and fixes those that are safe to fix.

An examination needs no hub: it runs in the daemon or, if no daemon answers, in the command. Fixing needs a hub.
"""
