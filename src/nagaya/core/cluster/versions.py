"""Which Kubernetes versions run, counted and in order."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.status_version import StatusVersion

_semantic: Final = re.compile(
    r"v?(\d+)\.(\d+)(?:\.(\d+))?(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?", re.ASCII
).fullmatch

Rank = tuple[bool, tuple[int, ...], bool, tuple[tuple[bool, int, str], ...], tuple[tuple[bool, int, str], ...], str]


def of_machines(machines: Iterable[Machine]) -> tuple[StatusVersion, ...]:
    """What machines run: what their Node says, or else what they are to run."""
    return together(StatusVersion(version=_runs(each), replicas=1) for each in machines)


def together(versions: Iterable[StatusVersion]) -> tuple[StatusVersion, ...]:
    """Equal versions added up, the oldest first."""
    counts: dict[str, int] = {}
    for each in versions:
        if each.version:
            counts[each.version] = counts.get(each.version, 0) + (each.replicas or 0)
    return tuple(StatusVersion(version=version, replicas=counts[version]) for version in sorted(counts, key=rank))


def rank(version: str) -> Rank:
    """What versions are sorted by: semantic versions by their rules and build numbers, then everything else."""
    match = _semantic(version)
    if match is None:
        return (True, (), False, (), (), version)
    major, minor, patch, before, build = match.groups()
    numbers = (int(major), int(minor), int(patch or 0))
    return (False, numbers, before is None, _identifiers(before), _identifiers(build), version)


def _identifiers(text: str | None) -> tuple[tuple[bool, int, str], ...]:
    parts = text.split(".") if text else ()
    return tuple((False, int(part), "") if part.isdigit() else (True, 0, part) for part in parts)


def _runs(machine: Machine) -> str:
    info = machine.status.node_info
    return (info.kubelet_version if info is not None else "") or machine.spec.version
