"""How the start of a control plane went, and its last upgrade: which phase took how long, and what waits for what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from nagaya.api.controlplane.hosted_conditions import HostedPhase as Phase
from nagaya.api.controlplane.hosted_status import PhaseStatus
from nagaya.controlplane.hosted.phases import Verdict

_ORDER: Final = tuple(Phase)
_LONGEST: Final = 1024


def timeline(
    before: Sequence[PhaseStatus], verdicts: Mapping[Phase, Verdict], upgrading: str, now: datetime
) -> tuple[PhaseStatus, ...]:
    """The timeline as it is now. A phase that has ended stays as it was, whatever happens later: this tells of the
    start. `upgrading` says where an upgrade that is under way leads to; empty if there is none."""
    now = now.replace(microsecond=0)
    known = {each.phase: each for each in before}
    for phase, verdict in verdicts.items():
        entry = known.get(phase)
        if entry is not None and entry.ended is not None:
            continue
        began = now if entry is None else entry.began
        message = verdict.message[:_LONGEST]
        known[phase] = PhaseStatus(phase=phase, began=began, ended=now if verdict.done else None, message=message)
    if (upgrade := _upgrade(known.get(Phase.UPGRADE), upgrading, now)) is not None:
        known[Phase.UPGRADE] = upgrade
    return tuple(known[phase] for phase in _ORDER if phase in known)


def _upgrade(before: PhaseStatus | None, upgrading: str, now: datetime) -> PhaseStatus | None:
    under_way = before is not None and before.ended is None
    if upgrading:
        began = before.began if before is not None and under_way else now
        return PhaseStatus(phase=Phase.UPGRADE, began=began, message=upgrading)
    if before is not None and under_way:
        return PhaseStatus(phase=Phase.UPGRADE, began=before.began, ended=now, message=before.message)
    return before
