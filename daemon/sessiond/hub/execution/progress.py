"""The type of the functions that report the progress of long work."""

from collections.abc import Callable
from typing import TypeAlias

ReportPercentage: TypeAlias = Callable[[str, int], None]
"""Reports progress: a message and a percentage."""
