"""sessiond: the session store that agents, editors and terminals of one user share.

This package imports nothing, so that a thin client starts fast.
"""

__version__ = "0.2.0"
