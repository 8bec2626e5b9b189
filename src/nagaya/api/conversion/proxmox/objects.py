"""Whole objects from one version to the other and back, without loss.

What always holds: an object that goes to the other version and comes back is the same, and one that was changed in the
other version is the same but for that change. What the other version has no place for travels in an annotation, as in
every Cluster API provider; it is there only if there is something to carry.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from nagaya.api.conversion.proxmox.changes import carried
from nagaya.api.conversion.proxmox.clusters import (
    cluster_status_to_new,
    cluster_status_to_old,
    cluster_to_new,
    cluster_to_old,
)
from nagaya.api.conversion.proxmox.machines import (
    machine_status_to_new,
    machine_status_to_old,
    machine_to_new,
    machine_to_old,
)
from nagaya.api.conversion.proxmox.values import Content, chosen, filled, mapping
from nagaya.api.proxmox.group import GROUP, OLD_VERSION, VERSION

NEW_DATA: Final = "cluster.x-k8s.io/conversion-data"
"""On an object of v1alpha1: what the object of v1alpha2 has, if v1alpha1 has no place for all of it."""
OLD_DATA: Final = "infrastructure.nagaya.dev/v1alpha1-data"
"""On an object of v1alpha2: what the object of v1alpha1 had, if v1alpha2 has no place for all of it."""

NEW_API_VERSION: Final = f"{GROUP}/{VERSION}"
OLD_API_VERSION: Final = f"{GROUP}/{OLD_VERSION}"

Change = Callable[[Content], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class _View:
    """How the content of a kind is seen in one version."""

    spec: Change
    status: Change
    template: bool = False

    def of(self, content: Content) -> dict[str, Any]:
        spec = mapping(content.get("spec"))
        if self.template:
            template = mapping(spec.get("template"))
            seen = {**chosen(template, ("metadata",)), "spec": self.spec(mapping(template.get("spec")))}
            return {"spec": {"template": seen}}
        return {"spec": self.spec(spec), **filled(status=self.status(mapping(content.get("status"))))}


_TO_NEW: Final[Mapping[str, _View]] = {
    "ProxmoxCluster": _View(cluster_to_new, cluster_status_to_new),
    "ProxmoxClusterTemplate": _View(cluster_to_new, cluster_status_to_new, template=True),
    "ProxmoxMachine": _View(machine_to_new, machine_status_to_new),
    "ProxmoxMachineTemplate": _View(machine_to_new, machine_status_to_new, template=True),
}
_TO_OLD: Final[Mapping[str, _View]] = {
    "ProxmoxCluster": _View(cluster_to_old, cluster_status_to_old),
    "ProxmoxClusterTemplate": _View(cluster_to_old, cluster_status_to_old, template=True),
    "ProxmoxMachine": _View(machine_to_old, machine_status_to_old),
    "ProxmoxMachineTemplate": _View(machine_to_old, machine_status_to_old, template=True),
}
KINDS: Final = tuple(_TO_NEW)
"""The kinds that v1alpha1 has."""


def to_new(old: Content) -> dict[str, Any]:
    """An object of v1alpha1 in v1alpha2. It is not changed."""
    kind = str(old["kind"])
    return _converted(old, _TO_NEW[kind], _TO_OLD[kind], (NEW_API_VERSION, NEW_DATA, OLD_DATA))


def to_old(new: Content) -> dict[str, Any]:
    """An object of v1alpha2 in v1alpha1. It is not changed."""
    kind = str(new["kind"])
    return _converted(new, _TO_OLD[kind], _TO_NEW[kind], (OLD_API_VERSION, OLD_DATA, NEW_DATA))


def left_behind(old: Content) -> tuple[str, ...]:
    """The fields of an object of v1alpha1, as `spec.odd[0].field`, that v1alpha2 has no place for."""
    kind = str(old["kind"])
    content = chosen(old, ("spec",))
    return tuple(_missing(content, _TO_OLD[kind].of(_TO_NEW[kind].of(content)), ""))


def _missing(given: Any, seen: Any, place: str) -> Iterator[str]:
    if given is None or given in ("", 0, [], {}) or given == seen:
        return
    if isinstance(given, Mapping) and isinstance(seen, Mapping):
        for name, value in given.items():
            yield from _missing(value, seen.get(name), f"{place}.{name}" if place else name)
    elif isinstance(given, list) and isinstance(seen, list) and len(given) == len(seen):
        for index, pair in enumerate(zip(given, seen, strict=True)):
            yield from _missing(*pair, f"{place}[{index}]")
    else:
        yield place


def _converted(source: Content, there: _View, back: _View, names: tuple[str, str, str]) -> dict[str, Any]:
    api_version, taken, left = names
    content = {name: value for name, value in source.items() if name not in ("apiVersion", "kind", "metadata")}
    made = there.of(content)
    kept = _kept(source, taken)
    if kept is not None:
        made = carried(there.of(back.of(kept)), made, kept)
    data = content if back.of(made) != content else None
    metadata = _annotated(mapping(source.get("metadata")), {taken: None, left: data})
    return {"apiVersion": api_version, "kind": source["kind"], "metadata": metadata, **made}


def _kept(source: Content, name: str) -> Content | None:
    text = mapping(mapping(source.get("metadata")).get("annotations")).get(name)
    try:
        kept = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None  # somebody else wrote it: what can be seen is all there is
    return chosen(kept, ("spec", "status")) if isinstance(kept, dict) else None


def _annotated(metadata: Content, changes: Mapping[str, Content | None]) -> dict[str, Any]:
    annotations = {name: value for name, value in mapping(metadata.get("annotations")).items() if name not in changes}
    for name, data in changes.items():
        if data is not None:
            annotations[name] = json.dumps(data, separators=(",", ":"), sort_keys=True)
    result = {name: value for name, value in metadata.items() if name != "annotations"}
    return {**result, "annotations": annotations} if annotations else result
