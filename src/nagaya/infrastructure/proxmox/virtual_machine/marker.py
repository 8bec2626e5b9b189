"""The marker in the description of a VM: the VM itself says which management API owns it, and for which machine.

The marker is the last line of the description, and it is there from the moment of the clone, so no VM of ours is ever
without it. `plane` is the management API that looks after the VM: no other one changes or destroys it. `uid` is that of
the ProxmoxMachine at its reservation. `claim` is the fingerprint of a secret that only the ProxmoxMachine (annotation
CLAIM) and its reservation have: a ProxmoxMachine that was moved to another management API proves with it that the VM is
its own, and a copy that somebody writes down by VMID and UUID does not. Who takes a VM over writes a new claim, so the
copy that is left at the source is worth nothing. A marker with a machine and an empty uid hands the VM over to the
machine of that name at any management API: an administrator of Proxmox VE may write it.
"""

from __future__ import annotations

import hashlib
import html
import json
import secrets
from dataclasses import dataclass
from typing import Any, Final

from nagaya.foreign_answers import read_json

PREFIX: Final = "nagaya: "
TAG: Final = "nagaya"
CLAIM: Final = "infrastructure.nagaya.dev/claim"
"""The annotation of a ProxmoxMachine with the secret that its VM's marker has the fingerprint of. While the marker is
written it has two, the one from before and the new one, so that the machine can be moved on at any moment."""


@dataclass(frozen=True, slots=True)
class Marker:
    """Whose VM it is."""

    machine: str
    """Namespace and name of the ProxmoxMachine."""
    uid: str
    """Empty if the VM is handed over to the machine of this name."""
    cluster: str = ""
    plane: str = ""
    """The management API. Empty if an earlier version wrote the marker."""
    claim: str = ""
    leaving: bool = False
    """Whether the plane is about to destroy the VM: nobody takes it over any more."""

    def line(self) -> str:
        """The marker as the description has it."""
        content: dict[str, Any] = {"machine": self.machine, "uid": self.uid}
        more = {"cluster": self.cluster, "plane": self.plane, "claim": self.claim, "leaving": self.leaving}
        content |= {name: value for name, value in more.items() if value}
        return PREFIX + json.dumps(content, separators=(",", ":"))


def new_claim() -> str:
    """A secret that nobody guesses."""
    return secrets.token_hex(16)


def fingerprint(claim: str) -> str:
    """What the marker says of a claim; empty for none."""
    return hashlib.sha256(claim.encode()).hexdigest() if claim else ""


def proves(claims: str, marker: Marker) -> bool:
    """Whether one of a machine's claims is that of a marker."""
    return bool(marker.claim) and marker.claim in map(fingerprint, claims.split())


def marked(description: str, marker: Marker) -> str:
    """A description with the marker at its end, in place of earlier ones."""
    lines = description.splitlines()
    others = [line for line in lines if _content(line) is None]
    rest = description if len(others) == len(lines) else "\n".join(others)
    return f"{rest.rstrip()}\n\n{marker.line()}" if rest.strip() else marker.line()


def read(description: str) -> Marker | None:
    """The marker in a description; None if there is none that can be read. The last one counts."""
    for line in reversed(description.splitlines()):
        if (text := _content(line)) is None:
            continue
        try:
            content = read_json(text)
        except ValueError:
            return None
        if not isinstance(content, dict) or not isinstance(content.get("uid"), str):
            return None
        fields = {name: str(content.get(name) or "") for name in ("machine", "uid", "cluster", "plane", "claim")}
        return Marker(**fields, leaving=content.get("leaving") is True)
    return None


def _content(line: str) -> str | None:
    """What a line says if it is a marker. Editors of notes indent lines, and tools that write HTML escape quotes."""
    text = html.unescape(line).strip()
    return text.removeprefix(PREFIX) if text.startswith(PREFIX) else None
