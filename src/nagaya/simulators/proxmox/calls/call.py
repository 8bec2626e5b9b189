"""What the code of a route gets, and how it is found.

By the time a handler runs, the caller is known, has the rights that the route declares, and the parameters are those
that the route accepts, typed. Rights that depend on what is asked for are checked by the handler through `rights`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nagaya.simulators.proxmox.state.node import Node

if TYPE_CHECKING:
    from nagaya.simulators.proxmox.access.rights import Caller, Rights
    from nagaya.simulators.proxmox.emulator import Emulator

Json = Any
"""What becomes `data` of the answer."""


class Total(list[Any]):
    """A list of which only a part is answered; the answer says beside `data` how many there are."""

    def __init__(self, items: list[Any], total: int) -> None:
        super().__init__(items)
        self.total = total


@dataclass(frozen=True, slots=True)
class File:
    """What is answered as it is, whatever form was asked for: a file to keep."""

    name: str
    content: bytes
    content_type: str = "text/plain"
    compressed: bool = False
    """Whether `content` is packed by gzip, which the client learns from the header only."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call."""

    emulator: Emulator
    node: Node
    """The host on which the code runs."""
    contacted: Node
    """The host that the client talks to."""
    caller: Caller
    rights: Rights
    parameters: dict[str, Any]
    body: bytes = b""

    def __getitem__(self, name: str) -> Any:
        return self.parameters[name]

    def get(self, name: str, default: Any = None) -> Any:
        """A parameter that may be missing."""
        return self.parameters.get(name, default)


Handler = Callable[[Call], Awaitable[Json]]


@dataclass(slots=True)
class Handlers:
    """The handlers of one module: `@handlers("GET", "/version")`."""

    found: dict[tuple[str, str], Handler] = field(default_factory=dict)

    def __call__(self, method: str, path: str) -> Callable[[Handler], Handler]:
        def remember(handler: Handler) -> Handler:
            self.found[method, path] = handler
            return handler

        return remember
