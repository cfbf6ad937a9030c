"""The time limit of a wait in a test. A wait ends when its condition is met, so only a failure takes this long."""

BOUND = 60.0
"""Seconds. A machine that runs other tests at the same time may need seconds for the work of 0.1 s."""
