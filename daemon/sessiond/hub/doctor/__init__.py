"""The doctor: looks through everything that lies on disk, says what is wrong, and fixes what is safe to fix.

Looking needs no hub: it is done in a daemon and, when none answers, in a command. Only fixing does.
"""
