"""What the credentials may do, as /access/permissions of Proxmox VE says it.

PVE lists the paths that have entries of their own, and the roots of the tree; what lies below inherits what is marked
as passed on. The nearest listed path above decides, as a lower entry replaces what comes from above.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Held:
    """Privileges by path, each with whether it is passed on to what lies below."""

    by_path: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)

    def holds(self, path: str, privilege: str) -> bool:
        """Whether a privilege is held at a path."""
        own = self.by_path.get(path)
        if own is not None:
            return privilege in own
        for above in _above(path):
            listed = self.by_path.get(above)
            if listed is not None:
                return listed.get(privilege, False)
        return False

    @property
    def nothing(self) -> bool:
        """Whether there is not a single one."""
        return not any(self.by_path.values())


def _above(path: str) -> Iterator[str]:
    while path != "/":
        path = path.rpartition("/")[0] or "/"
        yield path
