"""The doctor: looks through everything that lies on disk, says what is wrong, and mends what is safe to mend.

Looking needs no hub: it is done in a daemon and, when none answers, in a command. Only mending does.
"""
