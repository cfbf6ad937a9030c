"""Prepares and checks compactions and branch summaries: the cut, the prompt, the rules of safety."""
