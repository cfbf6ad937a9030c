"""The daemon as a process: lock, log, service manager, resources, start and end."""
