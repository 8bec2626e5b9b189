"""A request to a host's API and the answer to it, free of any HTTP library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Request:
    """What reached a host. `path` is raw, as in the request line; names of `headers` are in lower case."""

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    node: str = ""
    """The host that was contacted."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back."""

    status: int
    reason: str
    content_type: str | None = None
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    close: bool = False
    """Whether the connection ends after it."""
