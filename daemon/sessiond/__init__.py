"""sessiond: the session store that agents, editors and terminals of one person share.

This package imports nothing by itself, so that a thin client starts fast.
"""

__version__ = "0.1.0"
