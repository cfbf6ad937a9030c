"""The exit codes of every command in one table, from which code, help and manual take them."""

DONE = 0
REFUSED = 1
USAGE = 2
UNAVAILABLE = 69
NONSENSE = 70
NOT_THE_SYSTEM = 71
NO_FOLDER = 73
TRY_AGAIN = 75
BAD_SETTINGS = 78
INTERRUPTED = 130
PIPE_CLOSED = 141

MEANINGS: dict[int, str] = {
    DONE: "success",
    REFUSED: "the daemon returned an error; doctor: problems were found; import: nothing could be imported;"
    " terminal: no terminal was found",
    USAGE: "usage error: the command line is not valid",
    UNAVAILABLE: "no daemon is running, or the connection was lost before the response",
    NONSENSE: "invalid response from the daemon",
    NOT_THE_SYSTEM: "the system denied a resource: a file, a descriptor or memory",
    NO_FOLDER: "serve: a folder, the socket or a file of the daemon cannot be used",
    TRY_AGAIN: "temporary failure: the daemon is busy, stopping or does not respond; serve: another daemon runs",
    BAD_SETTINGS: "serve: config.toml is not valid",
    INTERRUPTED: "interrupted by Ctrl-C",
    PIPE_CLOSED: "the reader of the output closed it",
}
