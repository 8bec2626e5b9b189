"""How far a task of Proxmox VE has got, as its host tells it."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, Final

from nagaya.foreign_text import escape_line
from nagaya.infrastructure.proxmox.client.classification import classified
from nagaya.infrastructure.proxmox.client.errors import Evidence, ProxmoxError, Refused, TaskFailed, TaskVanished
from nagaya.infrastructure.proxmox.client.upid import Upid

_LONGEST: Final = 1000
"""Characters of an exit status."""


class Phase(enum.Enum):
    """Of a task."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    VANISHED = "vanished"
    """Its host knows nothing of it (any more): how it ended is not known."""


@dataclass(frozen=True, slots=True)
class TaskState:
    """What is known of a task. Warnings are a success: `exitstatus` then says how many, `log` which."""

    upid: Upid
    phase: Phase
    exitstatus: str = ""
    log: tuple[str, ...] = ()
    """The last lines, of tasks that failed or ended with warnings."""
    trouble: str = ""
    """Why its host cannot tell of it at the moment; the phase is then the last that is known."""

    @property
    def ended(self) -> bool:
        """Whether nothing more comes."""
        return self.phase is not Phase.RUNNING

    @property
    def warnings(self) -> bool:
        """Whether it succeeded with warnings."""
        return self.phase is Phase.SUCCEEDED and self.exitstatus.startswith("WARNINGS")

    @property
    def remedy(self) -> str:
        """What helps, of a task that failed for a reason that is known; empty if nothing is known that does."""
        because = self._because() if self.phase is Phase.FAILED else None
        return because.remedy if because is not None else ""

    def check(self) -> None:
        """Raise TaskFailed or TaskVanished for a task that ended so."""
        upid = self.upid
        evidence = Evidence(
            "GET", f"/nodes/{upid.node}/tasks/{upid}/status", upid.node, message=self.exitstatus, upid=upid.text,
            log=self.log,
        )  # fmt: skip
        if self.phase is Phase.VANISHED:
            raise TaskVanished(evidence)
        if self.phase is Phase.FAILED:
            raise TaskFailed(evidence, self.exitstatus, self._because())

    def _because(self) -> ProxmoxError | None:
        upid = self.upid
        because = classified(Evidence("TASK", upid.type, upid.node, message=self.exitstatus, upid=upid.text))
        return None if isinstance(because, Refused) else because


def phase_of(status: dict[str, Any]) -> tuple[Phase, str]:
    """The phase in an answer of .../tasks/{upid}/status, and the exit status."""
    if status["status"] == "running":
        return Phase.RUNNING, ""
    said = escape_line(" ".join(str(status.get("exitstatus") or "unexpected status").split()), _LONGEST)
    good = said == "OK" or said.startswith("WARNINGS: ")
    return Phase.SUCCEEDED if good else Phase.FAILED, said
