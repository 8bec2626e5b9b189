"""Fields that an apply would take from other managers, and how the client is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nagaya.apiserver.apply import fieldset
from nagaya.apiserver.apply.managed import Manager
from nagaya.apiserver.meta import status
from nagaya.apiserver.meta.status import ApiError


class Conflict(NamedTuple):
    """A field and the manager that owns it."""

    manager: Manager
    path: tuple[str, ...]


class Conflicts(Exception):
    """An apply that would take fields from others."""

    def __init__(self, conflicts: Sequence[Conflict]) -> None:
        super().__init__(f"{len(conflicts)} conflicts")
        self.conflicts = sorted(conflicts, key=lambda conflict: conflict.manager.text)

    def error(self) -> ApiError:
        """The answer to the client."""
        causes = [
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {conflict.manager}",
                "field": fieldset.display(conflict.path),
            }
            for conflict in self.conflicts
        ]
        return status.apply_conflict(causes, self._message())

    def _message(self) -> str:
        if len(self.conflicts) == 1:
            [(manager, path)] = self.conflicts
            return f"Apply failed with 1 conflict: conflict with {manager}: {fieldset.display(path)}"
        lines = []
        previous = None
        for manager, path in self.conflicts:
            if manager != previous:
                lines.append(f"conflicts with {manager}:")
                previous = manager
            lines.append(f"- {fieldset.display(path)}")
        return f"Apply failed with {len(self.conflicts)} conflicts: " + "\n".join(lines)
