"""What was lately asked of Proxmox VE, and what it answered: per connection and per machine, bounded, without secrets.

This is what explains a machine that does not come up. Parameters that are secrets or boot data are replaced by their
length; everything else is cut to a readable size.
"""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

PER_CONNECTION: Final = 500
PER_MACHINE: Final = 60
MACHINES: Final = 1000
_LONGEST: Final = 200
_MACHINE: Final = re.compile(r"^/nodes/[^/]+/qemu/(\d+)(?:/|$)")
_SECRET: Final = frozenset(
    {"password", "cipassword", "secret", "token", "ticket", "otp", "tfa-challenge", "content", "input-data", "sshkeys",
     "command", "tmpfilename", "spice-password"}
)  # fmt: skip
_PLAIN_CONTENT: Final = re.compile(r"^[a-z,]{1,40}$")


@dataclass(frozen=True, slots=True)
class Traced:
    """One call."""

    at: datetime
    method: str
    path: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    endpoint: str = ""
    status: int | None = None
    outcome: str = ""
    """The reason phrase, or why there was no answer."""
    kind: str = ""
    """The class of the error; empty for a success."""
    seconds: float = 0.0
    upid: str = ""

    def __str__(self) -> str:
        given = " ".join(f"{name}={value}" for name, value in self.parameters.items())
        asked = f"{self.method} {self.path}" + (f" {given}" if given else "")
        answer = f"{self.status} {self.outcome}" if self.status is not None else self.outcome
        return f"{self.at:%H:%M:%S} {asked} -> {answer} ({self.seconds:.2f} s)"


class Trace:
    """The calls of one connection, newest last."""

    def __init__(self) -> None:
        self._all: deque[Traced] = deque(maxlen=PER_CONNECTION)
        self._machines: OrderedDict[int, deque[Traced]] = OrderedDict()

    def add(self, traced: Traced) -> None:
        """Remember a call, and with it the machines that it was about."""
        self._all.append(traced)
        for vmid in machines_of(traced.path, traced.parameters):
            ring = self._machines.get(vmid)
            if ring is None:
                ring = self._machines[vmid] = deque(maxlen=PER_MACHINE)
                if len(self._machines) > MACHINES:
                    self._machines.popitem(last=False)
            else:
                self._machines.move_to_end(vmid)
            ring.append(traced)

    def calls(self) -> Sequence[Traced]:
        """All that are remembered."""
        return tuple(self._all)

    def of_machine(self, vmid: int) -> Sequence[Traced]:
        """Those about one machine, the clone that made it included."""
        return tuple(self._machines.get(vmid, ()))


def machines_of(path: str, parameters: Mapping[str, str]) -> tuple[int, ...]:
    """The ids of the machines that a call is about: in its path, and as the one that it makes."""
    found: list[int] = []
    if (match := _MACHINE.match(path)) is not None:
        found.append(int(match[1]))
    for name in ("newid", "vmid"):
        if (value := parameters.get(name, "")).isdigit() and int(value) not in found:
            found.append(int(value))
    return tuple(found)


def redacted(path: str, parameters: Mapping[str, str | Sequence[str]]) -> dict[str, str]:
    """Parameters as they may be shown. Nothing that is sent into or read from a guest is."""
    shown: dict[str, str] = {}
    for name, value in parameters.items():
        text = value if isinstance(value, str) else " ".join(value)
        # `content` is also the name of a kind of storage content.
        plain = name == "content" and "/agent/" not in path and _PLAIN_CONTENT.match(text)
        if name in _SECRET and not plain:
            shown[name] = f"({len(text)} characters)"
        else:
            shown[name] = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    return shown
