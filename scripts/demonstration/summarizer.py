"""Replaces a model in the demonstration: reads a prompt, writes a summary."""

import sys

lines = sys.stdin.read().count("\n")
print(f"A weather program was planned and built. (A model would have read these {lines} lines.)")
