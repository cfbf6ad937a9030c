"""Preparing compactions and branch summaries: where to cut, what to ask, what is safe."""
