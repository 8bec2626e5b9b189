"""How far a drain is, in the words of the condition Deleting. Programs look for parts of these sentences: the summary
of a deletion that takes long does, here and elsewhere, so they are upstream's to the letter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from nagaya.clusters.names import listed
from nagaya.core.machine.deletion.dates import date
from nagaya.kube.key import Key

_PODS: Final = 3
"""How many pods are named together."""
_FAILURES: Final = 5
"""How many different failures are told."""
_BUDGET: Final = " evict pod as it would violate the pod's disruption budget."

Keys = tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """The pods that keep a Node from being drained, by what is the matter with them."""

    going: Keys = ()
    failed: Mapping[str, Keys] = field(default_factory=dict)
    """By why they could not be evicted."""
    wait: Keys = ()
    evict_later: Keys = ()
    wait_later: Keys = ()
    evicted: bool = False
    """Whether pods were asked to leave just now."""
    ends: datetime | None = None
    """When the first of those that go has to be gone."""

    @property
    def drained(self) -> bool:
        """Whether nothing keeps it."""
        return not (self.going or self.failed or self.wait or self.evict_later or self.wait_later)

    def message(self, started: datetime) -> str:
        """The whole story."""
        lines = [drain_started(started)]
        if self.going:
            lines.append(_line(self.going, "deletionTimestamp set, but still not removed from the Node"))
        lines += self._failures()
        if self.wait:
            lines.append(_line(self.wait, "waiting for completion"))
        later = "After above Pods have been removed from the Node, "
        if self.evict_later:
            lines.append(f"{later}the following Pods will be evicted: {listed(self.evict_later, _PODS)}")
        if self.wait_later:
            told = listed(self.wait_later, _PODS)
            lines.append(f"{later}waiting for the following Pods to complete without eviction: {told}")
        return "\n".join(lines)

    def _failures(self) -> list[str]:
        causes = sorted(self.failed)
        lines = [_line(self.failed[cause], _failure(cause)) for cause in causes[:_FAILURES]]
        others = sum(len(self.failed[cause]) for cause in causes[_FAILURES:])
        if others:
            lines.append(f"* {others} {_pods(others)} with other issues")
        return lines


def drain_started(started: datetime) -> str:
    """What is said of a drain of which nothing else is known yet."""
    return f"Drain not completed yet (started at {date(started)}):"


def _line(keys: Sequence[Key], what: str) -> str:
    return f"* {_pods(len(keys))} {listed(keys, _PODS)}: {what}"


def _pods(number: int) -> str:
    return "Pod" if number == 1 else "Pods"


def _failure(cause: str) -> str:
    cause = cause.replace(f"Cannot{_BUDGET}", f"cannot{_BUDGET}")
    return cause if cause.startswith(f"cannot{_BUDGET}") else f"failed to evict Pod, {cause}"
