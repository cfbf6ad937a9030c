"""For the CLI, scripts and agents: find the daemon, talk to it."""
