"""What a Machine gives to its Node: labels, annotations and taints, and nothing else.

The Node belongs to the tenant, so everything that did not come from the Machine is left alone. What did come is written
down in annotations of the Node, which is how it can be taken away again when the Machine no longer has it. One taint is
removed: the one that kept pods away until all this was there.

The change is a merge patch, not server-side apply: Nodes can have two addresses of one type, which apply refuses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from nagaya.api.cluster import annotations as names
from nagaya.api.cluster import labels
from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_deployment import MachineDeployment
from nagaya.api.cluster.machine_set import MachineSet
from nagaya.api.cluster.taint import ALWAYS, NODE_OUTDATED_REVISION, NODE_UNINITIALIZED, ON_INITIALIZATION, MachineTaint
from nagaya.clusters.node import Node, NodeTaint
from nagaya.core.machine.seen import Seen, Settings
from nagaya.kube.patches import difference

UNINITIALIZED: Final = NodeTaint(key=NODE_UNINITIALIZED, effect="NoSchedule")
OUTDATED: Final = NodeTaint(key=NODE_OUTDATED_REVISION, effect="PreferNoSchedule")
_ALWAYS_GIVEN: Final = (
    names.CLUSTER_NAME,
    names.CLUSTER_NAMESPACE,
    names.MACHINE,
    names.OWNER_KIND,
    names.OWNER_NAME,
)
"""Annotations that need not be written down, because they are known to come from the Machine."""


def node_change(seen: Seen, node: Node, interruptible: bool) -> dict[str, Any] | None:
    """The merge patch that gives a Node what its Machine has. None if the Node has it."""
    machine, before = seen.machine, node.metadata
    given_annotations = _annotations_for_node(machine, seen.settings)
    given_labels = _labels_for_node(machine, seen.settings)
    if interruptible:
        given_labels[labels.INTERRUPTIBLE] = ""
    tracked = [
        *_listed(before.annotations.get(names.ANNOTATIONS_FROM_MACHINE)),
        *_ALWAYS_GIVEN,
    ]
    kept = _without(before.annotations, (each for each in tracked if each != names.ANNOTATIONS_FROM_MACHINE))
    annotations = {
        **kept,
        **given_annotations,
        names.LABELS_FROM_MACHINE: _list(given_labels),
        names.ANNOTATIONS_FROM_MACHINE: _list(given_annotations.keys() - set(_ALWAYS_GIVEN)),
        names.TAINTS_FROM_MACHINE: _list(_name(each) for each in machine.spec.taints if each.propagation == ALWAYS),
    }
    after_labels = {
        **_without(before.labels, _listed(before.annotations.get(names.LABELS_FROM_MACHINE))),
        **given_labels,
    }
    patch: dict[str, Any] = {}
    metadata = difference(
        {"annotations": before.annotations, "labels": before.labels},
        {"annotations": annotations, "labels": after_labels},
    )
    if metadata is not None:
        patch["metadata"] = metadata
    taints = node_taints(node, machine.spec.taints, outdated(seen.machine_set, seen.machine_deployment))
    if taints != node.spec.taints:
        patch["spec"] = {"taints": [*msgspec.to_builtins(taints)] or None}
    return patch or None


def node_taints(node: Node, wanted: Iterable[MachineTaint], is_outdated: bool) -> tuple[NodeTaint, ...]:
    """The taints that a Node is to have, in the order in which it has them, new ones last."""
    note = node.metadata.annotations.get(names.TAINTS_FROM_MACHINE)
    taints = {each.identity: each for each in node.spec.taints if each.identity != UNINITIALIZED.identity}
    going = set(_listed(note))
    for each in wanted:
        going.discard(_name(each))
        if each.propagation == ON_INITIALIZATION and note is not None:
            continue
        present = taints.get((each.key, each.effect))
        if present is None or present.value != each.value:
            taints[each.key, each.effect] = NodeTaint(key=each.key, value=each.value, effect=each.effect)
    for name in going:
        key, _, effect = name.rpartition(":")
        taints.pop((key, effect), None)
    if is_outdated:
        taints.setdefault(OUTDATED.identity, OUTDATED)
    else:
        taints.pop(OUTDATED.identity, None)
    return tuple(taints.values())


def outdated(machine_set: MachineSet | None, deployment: MachineDeployment | None) -> bool:
    """Whether the machine will be replaced: its MachineSet is of an older revision than its MachineDeployment."""
    if machine_set is None or deployment is None:
        return False
    return _revision(machine_set) < _revision(deployment)


def _revision(obj: MachineSet | MachineDeployment) -> int:
    told = obj.metadata.annotations.get(names.REVISION, "")
    return int(told) if re.fullmatch(r"[+-]?\d+", told) else 0


def _annotations_for_node(machine: Machine, settings: Settings) -> dict[str, str]:
    metadata = machine.metadata
    given = {
        names.CLUSTER_NAME: machine.spec.cluster_name,
        names.CLUSTER_NAMESPACE: metadata.namespace,
        names.MACHINE: metadata.name,
    }
    if (owner := metadata.controller) is not None:
        given[names.OWNER_KIND] = owner.kind
        given[names.OWNER_NAME] = owner.name
    chosen = {
        name: value
        for name, value in metadata.annotations.items()
        if _within(_domain(name), names.MANAGED_NODE_DOMAIN) or _found(settings.sync_annotations, name)
    }
    return given | chosen


def _labels_for_node(machine: Machine, settings: Settings) -> dict[str, str]:
    given: dict[str, str] = {}
    for name, value in machine.metadata.labels.items():
        domain = _domain(name)
        if (
            domain == labels.NODE_ROLE_PREFIX
            or _within(domain, labels.NODE_RESTRICTION_DOMAIN)
            or _within(domain, labels.MANAGED_NODE_DOMAIN)
            or _found(settings.sync_labels, name)
        ):
            given[name] = value
    return given


def _domain(name: str) -> str:
    return name.partition("/")[0]


def _within(domain: str, parent: str) -> bool:
    return domain == parent or domain.endswith(f".{parent}")


def _found(patterns: Iterable[re.Pattern[str]], name: str) -> bool:
    return any(each.search(name) for each in patterns)


def _name(taint: MachineTaint) -> str:
    return f"{taint.key}:{taint.effect}"


def _without(content: Mapping[str, str], gone: Iterable[str]) -> dict[str, str]:
    dropped = set(gone)
    return {name: value for name, value in content.items() if name not in dropped}


def _list(parts: Iterable[str]) -> str:
    return ",".join(sorted(parts))


def _listed(text: str | None) -> list[str]:
    return [each for each in (text or "").split(",") if each]
