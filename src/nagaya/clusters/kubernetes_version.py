"""Kubernetes versions as they are found in the wild: read leniently, compared down to their build, and counted.

Two builds of one version may have names that have no order, such as hashes of commits. Then all that can be said is
that they differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cmp_to_key
from itertools import zip_longest
from typing import Final, Literal

from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.status_version import StatusVersion

Order = Literal[-1, 0, 1]
_IDENTIFIERS: Final = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_version = re.compile(rf"v?0*(\d+)(?:\.0*(\d+)(?:\.0*(\d+)(?:-({_IDENTIFIERS}))?(?:\+({_IDENTIFIERS}))?)?)?").fullmatch


@dataclass(frozen=True, slots=True)
class KubernetesVersion:
    """A semantic version."""

    major: int
    minor: int
    patch: int
    prerelease: str = ""
    build: str = ""

    def __str__(self) -> str:
        prerelease = f"-{self.prerelease}" if self.prerelease else ""
        build = f"+{self.build}" if self.build else ""
        return f"{self.major}.{self.minor}.{self.patch}{prerelease}{build}"


def parse(text: str) -> KubernetesVersion | None:
    """A version with or without a v in front; what is missing behind the first number is 0. None if it is none."""
    match = _version(text.strip())
    if match is None:
        return None
    major, minor, patch, prerelease, build = match.groups()
    return KubernetesVersion(int(major), int(minor or 0), int(patch or 0), prerelease or "", build or "")


def compare(one: KubernetesVersion, other: KubernetesVersion) -> Order | None:
    """-1, 0 or 1 as the first is less, equal or greater; None if they are different builds without an order."""
    numbers, others = (one.major, one.minor, one.patch), (other.major, other.minor, other.patch)
    if numbers != others:
        return -1 if numbers < others else 1
    if one.prerelease != other.prerelease:
        # What has no prerelease comes after all that lead up to it.
        if not one.prerelease or not other.prerelease:
            return 1 if not one.prerelease else -1
        return _prereleases(one.prerelease, other.prerelease)
    return _builds(one.build, other.build)


def of_machines(machines: Iterable[Machine]) -> tuple[StatusVersion, ...]:
    """What machines run, and how many of them. What the kubelet says beats what is asked for."""
    return together(StatusVersion(version=_runs(each), replicas=1) for each in sorted(machines, key=_age))


def together(versions: Iterable[StatusVersion]) -> tuple[StatusVersion, ...]:
    """Equal versions added up, the oldest first, and what is no version last. Builds without an order stay in the
    order in which they come."""
    counts: dict[str, int] = {}
    for each in versions:
        if each.version:
            counts[each.version] = counts.get(each.version, 0) + (each.replicas or 0)
    order = {version: index for index, version in enumerate(counts)}

    def before(one: str, other: str) -> int:
        first, second = parse(one), parse(other)
        if first is None or second is None:
            if (first is None) != (second is None):
                return 1 if first is None else -1
            return -1 if one < other else 1
        found = compare(first, second)
        if found is None:
            return order[one] - order[other]
        return found or (-1 if one < other else 1)

    listed = sorted(counts, key=cmp_to_key(before))
    return tuple(StatusVersion(version=each, replicas=counts[each] or None) for each in listed)


def _runs(machine: Machine) -> str:
    info = machine.status.node_info
    return (info.kubelet_version if info is not None else "") or machine.spec.version


def _age(machine: Machine) -> tuple[float, str]:
    created = machine.metadata.creation_timestamp
    return (created.timestamp() if created is not None else 0.0, machine.metadata.name)


def _prereleases(one: str, other: str) -> Order:
    for first, second in zip_longest(one.split("."), other.split(".")):
        if first == second:
            continue
        if first is None or second is None:  # all equal so far: the longer one is greater
            return -1 if first is None else 1
        if first.isdigit() and second.isdigit():
            return -1 if int(first) < int(second) else 1
        if first.isdigit() != second.isdigit():
            return -1 if first.isdigit() else 1
        return -1 if first < second else 1
    return 0


def _builds(one: str, other: str) -> Order | None:
    ours, theirs = one.split(".") if one else [], other.split(".") if other else []
    for first, second in zip(ours, theirs, strict=False):
        if first.isdigit() != second.isdigit():
            return -1 if first.isdigit() else 1
        if first.isdigit():
            if int(first) != int(second):
                return -1 if int(first) < int(second) else 1
        elif first != second:
            return None
    if len(ours) == len(theirs):
        return 0
    return -1 if len(ours) < len(theirs) else 1
