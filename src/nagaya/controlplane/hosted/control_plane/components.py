"""The programs of a tenant as its status tells them: all replicas taken together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from nagaya.api.cluster.status_version import StatusVersion
from nagaya.api.controlplane.hosted_arguments import KUBE_APISERVER
from nagaya.api.controlplane.hosted_status import (
    COMPONENT_STATES,
    NOT_HEALTHY,
    RESTARTING,
    RUNNING,
    STARTING,
    STOPPED,
    ComponentStatus,
)
from nagaya.clusters.kubernetes_version import KubernetesVersion, parse
from nagaya.controlplane.hosted.host.tenant_folder import Started
from nagaya.supervision.status import ProcessStatus, State

_STATES: Final[Mapping[State, str]] = {
    State.READY: RUNNING,
    State.UNCLAIMED: RUNNING,
    State.STARTING: STARTING,
    State.STOPPING: STARTING,
    State.WAITING: RESTARTING,
    State.STOPPED: STOPPED,
}
_WORST_FIRST: Final = (RESTARTING, NOT_HEALTHY, STOPPED, STARTING, RUNNING)
assert set(_WORST_FIRST) == set(COMPONENT_STATES)

LastWords = Callable[[str], str]


def components(
    processes: Mapping[str, ProcessStatus], started: Mapping[str, Started], last_words: LastWords
) -> tuple[ComponentStatus, ...]:
    """Every program that runs, or should. `last_words` are asked for only where something is wrong."""
    by_program: dict[str, list[ProcessStatus]] = {}
    for status in processes.values():
        if status.name in started:
            by_program.setdefault(program_of(status.name), []).append(status)
    return tuple(_component(name, each, started, last_words) for name, each in sorted(by_program.items()))


def program_of(process: str) -> str:
    """The program of a process: of `<uid>.kube-apiserver-1` kube-apiserver."""
    name = process.partition(".")[2]
    return KUBE_APISERVER if name.startswith(f"{KUBE_APISERVER}-") else name


def versions(started: Mapping[str, Started]) -> tuple[StatusVersion, ...]:
    """What API servers run, and how many of each."""
    counts: dict[str, int] = {}
    for name, each in started.items():
        if program_of(name) == KUBE_APISERVER:
            counts[each.version] = counts.get(each.version, 0) + 1
    ordered = sorted(counts, key=_order)
    return tuple(StatusVersion(version=each, replicas=counts[each]) for each in ordered)


def lowest(found: Iterable[str]) -> str:
    """The lowest of some versions; empty if there are none."""
    return min((each for each in found if each), key=_order, default="")


def _component(
    name: str, processes: list[ProcessStatus], started: Mapping[str, Started], last_words: LastWords
) -> ComponentStatus:
    states = [_STATES[each.state] for each in processes]
    worst = min(states, key=_WORST_FIRST.index)
    broken = next((each for each in processes if each.state is State.WAITING), None)
    message = ""
    if broken is not None:
        message = f"{broken.reason}. {last_words(broken.name)}".strip()
    return ComponentStatus(
        name=name,
        state=worst,
        version=lowest(started[each.name].version for each in processes),
        replicas=len(processes),
        ready_replicas=sum(each.state in (State.READY, State.UNCLAIMED) for each in processes),
        restarts=sum(each.restarts for each in processes),
        message=message,
    )


def _order(version: str) -> tuple[int, int, int, str]:
    found = parse(version) or KubernetesVersion(0, 0, 0)
    return (found.major, found.minor, found.patch, version)
