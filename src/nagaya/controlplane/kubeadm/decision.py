"""What a part of a plan comes to: things to do, a sentence, and whether that is all for now.

A plan is a list of questions asked in a fixed order. Each either has something to say, which may end the list, or
nothing, and then the next one is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from nagaya.controlplane.kubeadm.actions import Action

PREFLIGHT_RETRY: Final = 15.0
"""Seconds until a control plane that is not stable is looked at again: etcd and pods change without an event."""
DELETION_RETRY: Final = 30.0
"""Seconds until a deletion that takes its time is looked at again."""
AT_ONCE: Final = 1.0
"""Seconds until etcd, which was just changed, is looked at again."""


@dataclass(frozen=True, slots=True)
class Checks:
    """What keeps machines from being made or deleted at present. The conditions ScalingUp and ScalingDown tell it."""

    deleting_machine: bool = False
    certificates_missing: bool = False
    components_not_healthy: bool = False
    etcd_not_healthy: bool = False
    topology_version: str = ""
    """The version that the topology of the cluster has yet to hand on; empty if it has."""
    failures: tuple[str, ...] = ()
    """What is not healthy, a sentence each."""

    @property
    def passed(self) -> bool:
        """Whether nothing does."""
        return self == Checks()


PASSED: Final = Checks()


@dataclass(frozen=True, slots=True)
class Decision:
    """What one question came to."""

    why: str
    actions: tuple[Action, ...] = ()
    requeue_after: float | None = None
    checks: Checks = PASSED
    problem: bool = False
    """Whether somebody has to do something before it can go on."""
