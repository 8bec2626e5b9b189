"""Who has data in a store: the uid of a control plane, and the names that are made of it.

Names that people choose are not unique over time, and can be chosen to look like something else. A uid is neither; it
is checked all the same, because it becomes part of keys, identifiers and paths. All names have the same length, and
the keys of a tenant begin with its prefix and a slash: the range of one can never contain another's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Tenant:
    """One tenant of a store."""

    uid: str

    def __post_init__(self) -> None:
        if not _UID.fullmatch(self.uid):
            raise ValueError(f"{self.uid!r} is not a uid: it must be a UUID in lower case")

    @property
    def user(self) -> str:
        """Its user in a store that has users, and the common name of its certificate."""
        return f"tenant-{self.uid}"

    @property
    def prefix(self) -> str:
        """What its keys begin with in a store that it shares; kube-apiserver adds the slash."""
        return f"/{self.uid}"

    @property
    def database(self) -> str:
        """Its database and its role, in a store that has such."""
        return f"tenant_{self.uid.replace('-', '_')}"
