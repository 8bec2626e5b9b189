"""Changes that reach machines without replacing them: labels, annotations, time limits, taints, readiness gates.

An object that says all that it should may still say something that the control plane no longer does. So each one is
applied once after the declaration has changed, and otherwise only when something is missing from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nagaya.api.kind import Object
from nagaya.controlplane.kubeadm.actions import (
    Action,
    Discard,
    SyncConfig,
    SyncDeleting,
    SyncHost,
    SyncMachine,
)
from nagaya.controlplane.kubeadm.machine_content import (
    existing_machine,
    in_line,
    machine_annotations,
    machine_labels,
    tearing_down,
)
from nagaya.controlplane.kubeadm.seen import Seen


def propagation(seen: Seen) -> Iterator[Action]:
    """Bring machines and their objects in line."""
    kcp, cluster = seen.kcp, seen.cluster.metadata.name
    wanted = {"labels": machine_labels(kcp, cluster), "annotations": machine_annotations(kcp)}
    for machine in seen.machines:
        name = machine.metadata.name
        if machine.metadata.deleting:
            if patch := tearing_down(kcp, machine):
                yield SyncDeleting(machine, patch, f"Machine {name} follows the declared time limits while it goes.")
            continue
        if not seen.settled or not in_line(kcp, cluster, machine):
            content = existing_machine(kcp, cluster, machine)
            yield SyncMachine(machine, content, f"Machine {name} follows the control plane.")
        host, config = seen.hosts.get(name), seen.configs.get(name)
        if host is not None and _is_due(seen, host.object, wanted):
            yield SyncHost(host, wanted, f"{host.object.kind} {name} has the labels of the control plane.")
        if config is not None and _is_due(seen, config, wanted):
            yield SyncConfig(config, wanted, f"KubeadmConfig {name} has the labels of the control plane.")


def leftovers(seen: Seen) -> Iterator[Action]:
    """What a creation left behind that was cut short goes before anything new is made."""
    for config in seen.unclaimed_configs:
        if not config.metadata.deleting:
            yield Discard(config, f"KubeadmConfig {config.metadata.name} has no Machine.")
    for host in seen.unclaimed_hosts:
        if not host.object.metadata.deleting:
            yield Discard(host, f"{host.object.kind} {host.object.metadata.name} has no Machine.")


def _is_due(seen: Seen, obj: Object, wanted: Mapping[str, Mapping[str, str]]) -> bool:
    present = obj.metadata
    complete = (
        wanted["labels"].items() <= present.labels.items()
        and wanted["annotations"].items() <= present.annotations.items()
    )
    return not present.deleting and not (seen.settled and complete)
