"""How long a test waits for what must come: it goes on as soon as it is there, so only a failure takes so long."""

BOUND = 60.0
"""Seconds. A machine that runs other tests beside this one needs several for what it does in a tenth of one alone."""
