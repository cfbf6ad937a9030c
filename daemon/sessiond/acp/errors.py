"""The errors of the proxy: the messages for a person or an editor when something fails."""

from msgspec import Raw

from sessiond.error_text import TemplatedError


class AgentNotStarted(TemplatedError):
    """Raised when the program of the agent cannot be started."""

    sentence = "Cannot start the agent {program!r}: {reason}."
    advice = "Install it, or give the whole command: sessiond acp -- COMMAND."

    def __init__(self, program: str, reason: str) -> None:
        super().__init__(program=program, reason=reason)


class AgentEnded(TemplatedError):
    """Raised for requests that the agent can no longer answer."""

    sentence = "The agent {program!r} ended with status {status} before it answered."
    advice = "Everything that it sent is stored: start it again and load the session."

    def __init__(self, program: str, status: int | None) -> None:
        super().__init__(program=program, status="unknown" if status is None else status)


class AgentSilent(TemplatedError):
    """Reported when the agent does not answer the first request."""

    sentence = (
        "The agent {program!r} has not answered `initialize` for {seconds} seconds. It is still waited for."
    )
    advice = "Run it in a terminal: it may ask for a login, or may need an option to speak ACP."

    def __init__(self, program: str, seconds: int) -> None:
        super().__init__(program=program, seconds=seconds)


class AgentRefused(TemplatedError):
    """Raised when the response to a request of the proxy is an error, which `error` has as it is written."""

    sentence = "The agent answered with the error {error}."

    def __init__(self, error: Raw) -> None:
        super().__init__(error=bytes(error).decode("utf-8", "replace")[:1_000])
        self.error = error


class LineTooLong(TemplatedError):
    """Raised when a peer sends a line that exceeds the limit."""

    sentence = "{sender} sent a line of more than {limit} MiB."

    def __init__(self, sender: str, limit: int) -> None:
        super().__init__(sender=sender, limit=limit)


class SessionUnknown(TemplatedError):
    """Raised when neither the agent nor the daemon has a session."""

    sentence = "Neither the agent nor sessiond has the session {session_id!r}."

    def __init__(self, session_id: str) -> None:
        super().__init__(session_id=session_id[:200])


class NotStored(TemplatedError):
    """Reported once when entries cannot be stored by the daemon."""

    sentence = "The daemon does not store the session {session_id}: {reason}."
    advice = "The conversation is kept in {path} and stored by the next start of sessiond acp."

    def __init__(self, session_id: str, reason: str, path: str) -> None:
        super().__init__(session_id=session_id, reason=reason.rstrip("."), path=path)


class RunnerEnded(TemplatedError):
    """Raised for requests about a session whose process has ended before it answered."""

    sentence = "The process that ran the session {session_id!r} has ended."
    advice = "Everything that the agent sent is stored. Send the prompt again: the session then goes on here."

    def __init__(self, session_id: str) -> None:
        super().__init__(session_id=session_id[:200])


class OnlyObserves(TemplatedError):
    """Raised for prompts of a client that attached as an observer."""

    sentence = "An observer sends no prompts."
    advice = "Attach with the role controller."


class OtherSession(TemplatedError):
    """Raised for requests of an attached client about another session than its own."""

    sentence = "This connection is attached to one session and takes no requests about others."
