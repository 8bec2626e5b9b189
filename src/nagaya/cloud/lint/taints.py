"""Taints and tolerations, matched as the scheduler and the eviction controller of Kubernetes match them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from nagaya.cloud.lint.plain import Object, mappings, number, text

NO_SCHEDULE: Final = "NoSchedule"
NO_EXECUTE: Final = "NoExecute"
KEEPS_AWAY: Final = (NO_SCHEDULE, NO_EXECUTE)
DEFAULT_EVICTION_SECONDS: Final = 300
"""What admission gives pods that say nothing about nodes that are not ready or not reachable."""


@dataclass(frozen=True, slots=True)
class Taint:
    """A mark on a node that keeps pods away."""

    key: str
    effect: str
    value: str = ""

    def __str__(self) -> str:
        """As kubectl writes it."""
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


@dataclass(frozen=True, slots=True)
class Toleration:
    """What a pod puts up with."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    seconds: int | None = None

    def tolerates(self, taint: Taint) -> bool:
        """Whether a node with that taint will do."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        match self.operator:
            case "" | "Equal":
                return self.value == taint.value
            case "Exists":
                return True
        return False  # Lt and Gt are behind a feature gate that is off unless somebody turns it on

    def same(self, other: Toleration) -> bool:
        """Whether they differ in nothing but the time."""
        return (self.key, self.operator, self.value, self.effect) == (
            other.key,
            other.operator,
            other.value,
            other.effect,
        )


UNINITIALIZED: Final = Taint("node.cloudprovider.kubernetes.io/uninitialized", NO_SCHEDULE, "true")
NOT_READY: Final = Taint("node.kubernetes.io/not-ready", NO_SCHEDULE)
NOT_READY_EVICTS: Final = Taint("node.kubernetes.io/not-ready", NO_EXECUTE)
UNREACHABLE_EVICTS: Final = Taint("node.kubernetes.io/unreachable", NO_EXECUTE)
CONTROL_PLANE: Final = Taint("node-role.kubernetes.io/control-plane", NO_SCHEDULE)
CAPI_UNINITIALIZED: Final = Taint("node.cluster.x-k8s.io/uninitialized", NO_SCHEDULE)

_DAEMON_PODS: Final = (
    Toleration("node.kubernetes.io/not-ready", "Exists", effect=NO_EXECUTE),
    Toleration("node.kubernetes.io/unreachable", "Exists", effect=NO_EXECUTE),
    Toleration("node.kubernetes.io/disk-pressure", "Exists", effect=NO_SCHEDULE),
    Toleration("node.kubernetes.io/memory-pressure", "Exists", effect=NO_SCHEDULE),
    Toleration("node.kubernetes.io/pid-pressure", "Exists", effect=NO_SCHEDULE),
    Toleration("node.kubernetes.io/unschedulable", "Exists", effect=NO_SCHEDULE),
)
_DAEMON_HOST_NETWORK: Final = Toleration("node.kubernetes.io/network-unavailable", "Exists", effect=NO_SCHEDULE)


def read_tolerations(value: object) -> tuple[Toleration, ...]:
    """The tolerations of a pod."""
    return tuple(
        Toleration(
            text(each.get("key")),
            text(each.get("operator")),
            text(each.get("value")),
            text(each.get("effect")),
            number(each.get("tolerationSeconds")),
        )
        for each in mappings(value)
    )


def read_taint(value: Object) -> Taint:
    """A taint of a node."""
    return Taint(text(value.get("key")), text(value.get("effect")), text(value.get("value")))


def parse_taints(value: str) -> tuple[Taint, ...]:
    """Taints as the kubelet's option --register-with-taints has them: key=value:effect, with commas between them."""
    found = []
    for each in filter(None, (part.strip() for part in value.split(","))):
        pair, _, effect = each.rpartition(":")
        key, _, own = pair.partition("=")
        found.append(Taint(key, effect, own))
    return tuple(found)


def of_daemon_pod(own: Iterable[Toleration], host_network: bool) -> tuple[Toleration, ...]:
    """What a pod of a DaemonSet tolerates: its own, and what the controller adds or puts in place of the same."""
    added = (*_DAEMON_PODS, _DAEMON_HOST_NETWORK) if host_network else _DAEMON_PODS
    return (*(each for each in own if not any(each.same(other) for other in added)), *added)


def of_other_pod(own: Iterable[Toleration]) -> tuple[Toleration, ...]:
    """What any other pod tolerates: admission adds five minutes on nodes that get lost, unless the pod speaks of it."""
    tolerations = tuple(own)
    for taint in (NOT_READY_EVICTS, UNREACHABLE_EVICTS):
        if not any(each.key in ("", taint.key) and each.effect in ("", NO_EXECUTE) for each in tolerations):
            added = Toleration(taint.key, "Exists", effect=NO_EXECUTE, seconds=DEFAULT_EVICTION_SECONDS)
            tolerations = (*tolerations, added)
    return tolerations


def untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> tuple[Taint, ...]:
    """The taints that keep a pod from being scheduled. Those that only make a node less welcome do not."""
    known = tuple(tolerations)
    return tuple(
        taint for taint in taints if taint.effect in KEEPS_AWAY and not any(each.tolerates(taint) for each in known)
    )


def eviction_after(taint: Taint, tolerations: Iterable[Toleration]) -> int | None:
    """After how many seconds a pod is evicted from a node with that taint; None if never."""
    used = [each for each in tolerations if each.tolerates(taint)]
    if not used:
        return 0
    limits = [max(each.seconds, 0) for each in used if each.seconds is not None]
    return min(limits, default=None)
