"""Connections to the server, and the store's errors for those of the driver.

No error holds the text of one of the server: its details may have content of a session, and those of a connection may
have parts of a URL.
"""

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import asyncpg
from asyncpg.exceptions import InternalClientError

from sessiond.store.errors import StorageFailed, StorageFull, StoreUnreachable
from sessiond.store.postgres.queries import query

CONNECT_SECONDS: Final = 5.0
"""Limit of the time in which a connection is made."""
COMMIT_SECONDS: Final = 30.0
"""Limit of the time in which the server confirms what it commits. It may wait for a replica, which may be gone."""
LOCK_SECONDS: Final = 2.0
"""Limit of the time that a statement waits for a row that another daemon has locked."""
LOCKED_SECONDS: Final = 10.0
"""Limit of the time that the server lets a daemon do nothing while it has rows locked."""

DRIVER_ERRORS: Final = (
    OSError,
    TimeoutError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    InternalClientError,
)
_BROKEN: Final = ("08", "57P", "53300", "25006", "28", "3D000", "25P03")
"""Beginnings of the SQLSTATEs after which a statement is to be sent again on another connection.

The connection, an administrator, too many connections, a replica, a refused login, no such database, an idle limit.
"""
_NO_SPACE: Final = ("53100", "53200")
_LOCKED: Final = "55P03"


@dataclass(frozen=True, slots=True)
class Backend:
    """The process of the server that executes the statements of a connection."""

    pid: int
    started: object


@dataclass(frozen=True, slots=True)
class Connected:
    """A connection and its process in the server."""

    connection: "asyncpg.Connection[asyncpg.Record]"
    backend: Backend


async def connect(url: str) -> "asyncpg.Connection[asyncpg.Record]":
    """Connect to the server of a URL. Passwords and TLS are set as for every client of libpq.

    Raises:
        StoreUnreachable: The server cannot be reached, or it refuses the connection.
    """
    try:
        return await asyncpg.connect(
            url,
            timeout=CONNECT_SECONDS,
            server_settings={
                "application_name": "sessiond",
                "lock_timeout": f"{LOCK_SECONDS:g}s",
                "idle_in_transaction_session_timeout": f"{LOCKED_SECONDS:g}s",
                "jit": "off",
            },
        )
    except (*DRIVER_ERRORS, ValueError) as error:  # ValueError: a file of the settings is not usable
        raise unreachable(error) from None


async def connect_backend(url: str) -> Connected:
    """Connect, and ask for the process of the server. Raises `StoreUnreachable`."""
    connection = await connect(url)
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            row = await connection.fetchrow(query("backend"))
    except DRIVER_ERRORS as error:
        connection.terminate()
        raise unreachable(error) from None
    except BaseException:
        connection.terminate()
        raise
    if row is None:
        connection.terminate()
        raise StoreUnreachable("it does not show its processes")
    return Connected(connection, Backend(row["pid"], row["backend_start"]))


def is_broken(error: BaseException) -> bool:
    """Return whether an error of the driver means that the connection is lost, or that it must be made again."""
    if isinstance(error, asyncpg.PostgresError):
        return str(error.sqlstate or "").startswith(_BROKEN)
    return isinstance(error, DRIVER_ERRORS)


def unreachable(error: BaseException) -> StoreUnreachable:
    """Return the error for a server that an error of the driver shows to be out of reach."""
    return error if isinstance(error, StoreUnreachable) else StoreUnreachable(_reason(error))


def refusal(error: BaseException) -> StorageFailed:
    """Return the error for a statement that the server refused."""
    state = getattr(error, "sqlstate", None)
    if state in _NO_SPACE:
        return StorageFull(_reason(error))
    if state == _LOCKED:
        return StorageFailed("another daemon keeps the session locked")
    return StorageFailed(_reason(error))


def store_error(error: BaseException) -> StorageFailed:
    """Return the error of the store for an error of the driver."""
    return unreachable(error) if is_broken(error) else refusal(error)


@contextmanager
def refusals() -> Iterator[None]:
    """Convert errors of the driver in the block to those of the store. Nothing of the block may have been sent."""
    try:
        yield
    except DRIVER_ERRORS as error:
        raise store_error(error) from None


def _reason(error: BaseException) -> str:
    """Return a description without any text of the server."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is refused ({error.verify_message.rstrip('.')})"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason or type(error).__name__})"
    if isinstance(error, asyncpg.InvalidAuthorizationSpecificationError):
        where = "passwords are read from ~/.pgpass, or from the file that PGPASSFILE names"
        return f"it refused the login (SQLSTATE {error.sqlstate}); {where}"
    if isinstance(error, asyncpg.PostgresError):
        return f"PostgreSQL reported {type(error).__name__}, SQLSTATE {error.sqlstate}"
    if isinstance(error, asyncio.TimeoutError):
        return "PostgreSQL did not answer in time"
    if type(error) is ConnectionError and "SSL" in str(error):  # as the driver says that a server refused TLS
        return "it offers no TLS, which sslmode requires"
    if isinstance(error, OSError) and error.errno is not None:
        return f"the connection to PostgreSQL failed ({type(error).__name__}, error {error.errno})"
    return f"the connection to PostgreSQL failed ({type(error).__name__})"
