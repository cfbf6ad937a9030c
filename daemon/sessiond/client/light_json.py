"""JSON for the thin client, by the C functions of the standard library's `json`.

Importing `json` imports `re` and `enum`, which takes as long as half a Python start; its C module needs neither
(decision 0031). The C module is not documented, so `json` is used if its functions are missing or take other arguments.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    Scan = Callable[[str, int], tuple[Any, int]]


def _refuse(value: object) -> NoReturn:
    raise TypeError(f"{type(value).__name__} is not a JSON value")


class _ScannerSettings:
    """The attributes that the C scanner reads: those of a `json.JSONDecoder`."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}.__getitem__
    memo: dict[str, str] = {}  # noqa: RUF012 - the C scanner has its own


def from_c_module() -> tuple[Callable[[object], str], Scan]:
    """Return `encode` and `scan` of the C module. Raises `ImportError`, `TypeError`, `AttributeError`."""
    import _json

    # The arguments are those with which `json.JSONEncoder.iterencode` calls it.
    chunks = _json.make_encoder(None, _refuse, _json.encode_basestring, None, ":", ",", False, False, False)
    settings: Any = _ScannerSettings
    scan_once: Scan = _json.make_scanner(settings)

    def encode(value: object) -> str:
        return "".join(chunks(value, 0))

    if scan_once(encode([1, "é"]), 0) != ([1, "é"], 7):
        raise ImportError("the C module of json has other functions")
    return encode, scan_once


def from_json_package() -> tuple[Callable[[object], str], Scan]:
    """Return `encode` and `scan` of the package `json`."""
    import json  # noqa: TID251 - the thin client has no msgspec

    encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_refuse)
    decoder: Any = json.JSONDecoder()
    return encoder.encode, decoder.scan_once


try:
    encode, scan = from_c_module()
except (ImportError, TypeError, AttributeError):
    encode, scan = from_json_package()
"""`encode(value)` returns compact JSON. It raises ValueError for NaN, TypeError for other types.

`scan(text, start)` returns the value that begins at `start`, and the end of it in the text. It raises ValueError or
SystemError for invalid JSON, and StopIteration where no value begins.
"""


def decode(text: str) -> Any:
    """Return the value of a JSON text. Raises ValueError."""
    whitespace = " \t\r\n"
    start = len(text) - len(text.lstrip(whitespace))
    try:
        value, end = scan(text, start)
    except (StopIteration, SystemError) as error:
        # The C function reports an error with a class of `json.decoder`. Without that module it raises SystemError.
        raise ValueError("there is no JSON value, or it is not valid") from error
    if text[end:].strip(whitespace):
        raise ValueError("there is text after the JSON value")
    return value
