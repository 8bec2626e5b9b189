"""What becomes of a pod when its Node is drained. Pure: one pod and what is known around it, to one verdict.

As `kubectl drain` decides it, and then as labels and MachineDrainRules say. What is asked first wins.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final

from nagaya.api.admission.golang import quote
from nagaya.api.cluster import labels
from nagaya.api.cluster.machine_drain_rule import DRAIN, SKIP, WAIT_COMPLETED
from nagaya.core.machine.deletion.drain.pods import Pod
from nagaya.core.machine.deletion.drain.rules import Labels, Rule
from nagaya.kube.key import Key

GOING_ON_UNREACHABLE_NODE: Final = 1
"""After so many whole seconds nobody waits for a pod whose kubelet is silent: it would never confirm the end."""


class Fate(Enum):
    """What becomes of a pod."""

    EVICT = "is evicted"
    WAIT = "is waited for, but not evicted"
    LEAVE = "stays, and nobody waits for it"
    DONE = "was waited for and has finished"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of one pod, when compared with others, and what to say about it."""

    pod: Pod
    fate: Fate
    order: int = 0
    note: str = ""

    @property
    def key(self) -> Key:
        """The pod's key."""
        return Key.of(self.pod)

    @property
    def blocks(self) -> bool:
        """Whether the Node is not drained before the pod is gone."""
        return self.fate in (Fate.EVICT, Fate.WAIT)


@dataclass(frozen=True, slots=True)
class Around:
    """What a verdict depends on besides the pod."""

    now: datetime
    daemon_sets: Collection[Key] = ()
    """Those that exist."""
    rules: tuple[Rule, ...] = ()
    namespaces: Mapping[str, Labels] | None = None
    """The labels of all Namespaces; None if no rule asks for them."""
    unreachable: bool = False
    """Whether the kubelet is silent, so that pods which shall go never will."""


class Unjudged(ValueError):
    """Pods of which it cannot be said what becomes of them. Names them all."""


class _Undecidable(Exception):
    pass


def judge(pods: Iterable[Pod], around: Around) -> tuple[Verdict, ...]:
    """The verdicts, by namespace and name. Raises Unjudged."""
    verdicts: list[Verdict] = []
    problems: dict[str, list[str]] = {}
    for pod in sorted(pods, key=lambda each: str(Key.of(each))):
        try:
            verdicts.append(_judge(pod, around))
        except _Undecidable as problem:
            problems.setdefault(str(problem), []).append(str(Key.of(pod)))
    if problems:
        told = (f"Pods with error {quote(problem)}: {', '.join(names)}" for problem, names in problems.items())
        raise Unjudged(", ".join(told))
    return tuple(verdicts)


def _judge(pod: Pod, around: Around) -> Verdict:
    notes: list[str] = []
    if around.unreachable and _going_for(pod, around.now) > GOING_ON_UNREACHABLE_NODE:
        return Verdict(pod, Fate.LEAVE, note="it is being deleted, and its node cannot confirm the end")
    if pod.daemon_set and not pod.finished:
        if Key(pod.metadata.namespace, pod.daemon_set) in around.daemon_sets:
            return Verdict(pod, Fate.LEAVE, note="ignoring DaemonSet-managed Pod")
        notes.append("evicting orphaned DaemonSet-managed Pod")
    if pod.mirror:
        return Verdict(pod, Fate.LEAVE, note="it is a static Pod")
    if pod.local_storage and not pod.finished:
        notes.append("evicting Pod with local storage")
    if pod.metadata.controller is None and not pod.finished:
        notes.append("evicting Pod that has no controller")
    if (asked := _asked_by_label(pod)) is not None:
        return asked
    return _by_rules(pod, around, ", ".join(notes))


def _going_for(pod: Pod, now: datetime) -> int:
    """For how many whole seconds its deletion has been due."""
    due = pod.metadata.deletion_timestamp
    return 0 if due is None else int((now - due).total_seconds())


def _asked_by_label(pod: Pod) -> Verdict | None:
    value = pod.metadata.labels.get(labels.DRAIN, "")
    if value.lower() == SKIP.lower():
        return Verdict(pod, Fate.LEAVE, note=f"its label {labels.DRAIN} says {value}")
    if value.replace("-", "", 1).lower() == WAIT_COMPLETED.lower():
        return _wait(pod)
    return None


def _by_rules(pod: Pod, around: Around, note: str) -> Verdict:
    namespace: Labels | None = {}
    if around.namespaces is not None:
        namespace = around.namespaces.get(pod.metadata.namespace)
    if namespace is None:
        raise _Undecidable("Pod Namespace does not exist")
    for rule in around.rules:
        if not rule.applies(pod.metadata.labels, namespace):
            continue
        match rule.drain.behavior:
            case behavior if behavior == DRAIN:
                return Verdict(pod, Fate.EVICT, rule.drain.order or 0, note)
            case behavior if behavior == SKIP:
                return Verdict(pod, Fate.LEAVE, note=f"MachineDrainRule {rule.name} says {SKIP}")
            case behavior if behavior == WAIT_COMPLETED:
                return _wait(pod)
            case unknown:
                told = f"MachineDrainRule {quote(rule.name)} has unknown spec.drain.behavior: {quote(unknown)}"
                raise _Undecidable(told)
    return Verdict(pod, Fate.EVICT, note=note)


def _wait(pod: Pod) -> Verdict:
    return Verdict(pod, Fate.DONE if pod.finished else Fate.WAIT)
