"""The daemon as a process: lock, log, service manager, resource limits, startup and shutdown."""
