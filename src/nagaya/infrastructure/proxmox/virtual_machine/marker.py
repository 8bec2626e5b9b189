"""The marker in the description of a VM: by it a VM is known as that of one machine, in whatever life of ours.

It is the last line of the description, and it is there from the moment of the clone, so no VM of ours is ever without
it. The uid in it is that of the ProxmoxMachine: no two are alike, also not after a VMID was given out again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

PREFIX: Final = "nagaya: "
TAG: Final = "nagaya"


@dataclass(frozen=True, slots=True)
class Marker:
    """Whose VM it is."""

    machine: str
    """Namespace and name of the ProxmoxMachine."""
    uid: str
    cluster: str = ""

    def line(self) -> str:
        """As it stands in the description."""
        said = {"machine": self.machine, "uid": self.uid, "cluster": self.cluster}
        return PREFIX + json.dumps(said, separators=(",", ":"))


def marked(description: str, marker: Marker) -> str:
    """A description with the marker at its end."""
    return f"{description.rstrip()}\n\n{marker.line()}" if description.strip() else marker.line()


def read(description: str) -> Marker | None:
    """The marker in a description; None if there is none that can be read. The last one counts."""
    for line in reversed(description.splitlines()):
        if not line.startswith(PREFIX):
            continue
        try:
            said = json.loads(line.removeprefix(PREFIX))
        except ValueError:
            return None
        if not isinstance(said, dict) or not isinstance(said.get("uid"), str):
            return None
        return Marker(str(said.get("machine", "")), said["uid"], str(said.get("cluster", "")))
    return None
