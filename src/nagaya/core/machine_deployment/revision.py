"""Which revision of the template a MachineSet is: the current one has the highest number.

A set that becomes current again gets a new number and keeps its former ones in its history. Numbers never go down.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Final

from nagaya.api.cluster.annotations import REVISION
from nagaya.api.cluster.machine_set import MachineSet

log = logging.getLogger(__name__)

HISTORY: Final = "machinedeployment.clusters.x-k8s.io/revision-history"


def next_revision(old: Iterable[MachineSet]) -> int:
    """The number of a set that comes after all old ones."""
    return max((revision(each) for each in old), default=0) + 1


def revision(machine_set: MachineSet) -> int:
    """The number of a set. One that has none, or one that nobody can read, is before all others."""
    text = machine_set.metadata.annotations.get(REVISION, "")
    if not text:
        return 0
    try:
        return int(text)
    except ValueError:
        log.warning("MachineSet %s has the revision %r, which is no number: ignored", machine_set.metadata.name, text)
        return 0


def current_annotations(current: MachineSet | None, old: Iterable[MachineSet]) -> dict[str, str]:
    """The annotations of the current set, existing or not."""
    number = next_revision(old)
    if current is None:
        return {REVISION: str(number)}
    number = max(number, revision(current))
    annotations = kept_annotations(current)
    before = annotations.get(REVISION)
    if before is not None and before != str(number):
        former = annotations.get(HISTORY, "")
        annotations[HISTORY] = f"{former},{before}" if former else before
    annotations[REVISION] = str(number)
    return annotations


def kept_annotations(machine_set: MachineSet) -> dict[str, str]:
    """The annotations that an old set keeps."""
    annotations: Mapping[str, str] = machine_set.metadata.annotations
    return {name: annotations[name] for name in (REVISION, HISTORY) if name in annotations}
