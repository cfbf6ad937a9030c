"""Columns of the rows in results and notifications that were received as JSON."""

from collections.abc import Mapping
from typing import Any


def entries_of(page: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The entries of `session/entries`, `session/path` or `session/appended`."""
    return [item["entry"] for item in page["items"]]


def seqs_of(page: Mapping[str, Any]) -> list[int]:
    """The seqs of these entries."""
    return [item["seq"] for item in page["items"]]


def messages_of(context: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The messages of `session/context`, as a model receives them."""
    return [row["message"] for row in context["messages"]]


def message_ids_of(context: Mapping[str, Any]) -> list[str]:
    """The entry of each message of `session/context`."""
    return [row["entryId"] for row in context["messages"]]
