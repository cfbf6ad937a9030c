"""Campaigns: each sets out to break one promise of the daemon, as often as it is given time for."""
