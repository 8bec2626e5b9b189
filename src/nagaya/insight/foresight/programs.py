"""Programs that hosted control planes would be run from, and that are not on the machine yet.

The controllers fetch or build what is missing when they need it. That takes minutes, or it cannot be had, and then the
control plane waits with the reason BinariesMissing: so it is told before, with the command that provides them. Whether
a program is there can be seen on the controllers' own machine only; whoever asks from another one is told nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from nagaya.api.controlplane.data_store import DATA_STORES, ETCD
from nagaya.api.controlplane.hosted_arguments import KONNECTIVITY_SERVER
from nagaya.api.controlplane.hosted_control_plane import DEFAULT_DATA_STORE, HOSTED_CONTROL_PLANES
from nagaya.api.untyped import Untyped
from nagaya.binaries import programs
from nagaya.binaries.errors import BinariesError, UnknownRequest
from nagaya.insight.foresight.change import Verb
from nagaya.insight.foresight.doubts import Doubt, Severity
from nagaya.insight.foresight.rehearsal import Rehearsed
from nagaya.kube.client import Client
from nagaya.kube.errors import Forbidden, NotFound

Absent = Callable[[str, Collection[str]], Sequence[str]]
"""Which programs of a Kubernetes version are not on the controllers' machine. Raises BinariesError."""


async def lacking(client: Client, rehearsed: Sequence[Rehearsed], absent: Absent) -> list[Doubt]:
    """What the hosted control planes that are made or changed would lack: equal ones once. Raises what the client
    does."""
    asked: dict[tuple[str, frozenset[str]], list[str]] = {}
    for each in rehearsed:
        plane = each.after
        if plane is None or plane.kind != HOSTED_CONTROL_PLANES.kind or each.change.verb is Verb.KEEP:
            continue
        version = plane.at("spec", "version")
        if isinstance(version, str) and plane.at("spec", "replicas") != 0:
            needed = frozenset(await _needed(client, rehearsed, plane))
            asked.setdefault((version, needed), []).append(each.change.title)
    found = []
    for (version, names), titles in asked.items():
        who = titles[0] if len(titles) == 1 else f"{titles[0]} (and {len(titles) - 1} more)"
        try:
            missing = absent(version, names)
        except UnknownRequest:
            continue  # no version of Kubernetes: the server or the rollout says so
        except BinariesError as error:
            found.append(Doubt(Severity.ERROR, f"{who} would not start: {' '.join(str(error).split())}"))
            continue
        if missing:
            found.append(_doubt(who, version, missing))
    return found


def _doubt(who: str, version: str, missing: Sequence[str]) -> Doubt:
    what = (
        f"{who} needs programs of Kubernetes {version} that are not on this machine: {', '.join(missing)}. They are "
        "downloaded or built first, which takes minutes; where that cannot be done, it waits for them "
        "(BinariesMissing)."
    )
    return Doubt(
        Severity.WARNING,
        what,
        f"Provide the programs: `nagaya kubernetes install --version {version} --only {','.join(_words(missing))}`. "
        "Or choose a version that can be had.",
    )


def _words(missing: Sequence[str]) -> Iterable[str]:
    """How they are asked for."""
    if not set(programs.CONTROL_PLANE) <= set(missing):
        return missing
    return ["control-plane", *(each for each in missing if each not in programs.CONTROL_PLANE)]


async def _needed(client: Client, rehearsed: Sequence[Rehearsed], plane: Untyped) -> list[str]:
    needed = [*programs.CONTROL_PLANE]
    if plane.at("spec", "addons", "konnectivity", "enabled") is True:
        needed.append(KONNECTIVITY_SERVER)
    name = plane.at("spec", "dataStoreRef", "name") or DEFAULT_DATA_STORE
    store = await _store(client, rehearsed, name)
    if store is None:
        # The one called default is made when it is needed, with an etcd of its own.
        needed += [programs.ETCD.name] if name == DEFAULT_DATA_STORE else []
    elif store.at("spec", "driver") != ETCD:
        needed.append(programs.KINE.name)
    elif store.at("spec", "managed") is True:
        needed.append(programs.ETCD.name)
    return needed


async def _store(client: Client, rehearsed: Sequence[Rehearsed], name: str) -> Untyped | None:
    for each in rehearsed:
        if each.after is not None and (each.change.kind, each.change.name) == (DATA_STORES.kind, name):
            return each.after
    try:
        return Untyped(DATA_STORES.content(await client.get(DATA_STORES, "", name)))
    except (NotFound, Forbidden):
        return None
