"""Proof that what agents wrote is here whole: sources against their sessions."""
