"""The exit codes of every command, in one table: what runs, what help and manual say, is taken from here."""

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
    DONE: "it is done",
    REFUSED: "refused by the daemon; doctor: something is wrong; import: nothing could be imported;"
    " terminal: there is none",
    USAGE: "the command line cannot be understood",
    UNAVAILABLE: "there is no daemon to talk to, or it went away before it answered",
    NONSENSE: "the answer makes no sense",
    NOT_THE_SYSTEM: "the system refused what the command needs: a file, a descriptor, memory",
    NO_FOLDER: "serve: a folder, the socket or a file of the daemon cannot be used",
    TRY_AGAIN: "try again later: the daemon is busy, about to stop, or hangs; serve: another one runs",
    BAD_SETTINGS: "serve: config.toml cannot be used",
    INTERRUPTED: "ended by Ctrl-C",
    PIPE_CLOSED: "whoever read the output closed it",
}
