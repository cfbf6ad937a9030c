"""The exit codes of every command in one table, from which code, help and manual take them."""

SUCCESS = 0
FAILURE = 1
USAGE_ERROR = 2
UNAVAILABLE = 69
INVALID_RESPONSE = 70
SYSTEM_ERROR = 71
CANNOT_CREATE = 73
TEMPORARY_FAILURE = 75
CONFIG_ERROR = 78
INTERRUPTED = 130
BROKEN_PIPE = 141

MEANINGS: dict[int, str] = {
    SUCCESS: "success",
    FAILURE: "the daemon returned an error; doctor: problems were found; import: nothing could be imported;"
    " sync, bundle, backup, restore, move-store: a session is not complete, or a file or store was refused;"
    " terminal: no terminal was found",
    USAGE_ERROR: "usage error: the command line is not valid",
    UNAVAILABLE: "no daemon is running, or the connection was lost before the response;"
    " sync: the other side cannot be reached, or does not follow the protocol",
    INVALID_RESPONSE: "invalid response from the daemon",
    SYSTEM_ERROR: "the system denied a resource: a file, a descriptor or memory",
    CANNOT_CREATE: "serve: a folder, the socket or a file of the daemon cannot be used",
    TEMPORARY_FAILURE: "temporary failure: the daemon is busy, stopping or does not respond;"
    " serve: another daemon runs; move-store: a daemon runs",
    CONFIG_ERROR: "serve, sync: config.toml is not valid; serve, move-store: the store cannot be opened",
    INTERRUPTED: "interrupted by Ctrl-C",
    BROKEN_PIPE: "the reader of the output closed it",
}
