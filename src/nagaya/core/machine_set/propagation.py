"""What a MachineSet says about machines that exist already: what may change while a machine lives.

Labels, annotations, readiness gates, time limits of a deletion, minReadySeconds and taints follow the template of the
set; version, failure domain and the objects of providers stay what they were when the machine was made. All of it is
applied server-side, so what users and other controllers add to a machine survives, and what the set no longer says
goes. Machines belong to one field manager. The labels and annotations of providers' objects belong to another one:
the rest of such an object comes from a template that may be gone by now and could not be applied again. Both managers
have the names that Cluster API's own controllers apply under, so that what those said goes, too, when a plane takes
over from the other; under other names it would stay for ever.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from nagaya.api.cluster import labels as label
from nagaya.api.cluster import machine as machines
from nagaya.api.cluster.label_value import as_label_value
from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_deletion import DEFAULT_NODE_DELETION_TIMEOUT_SECONDS
from nagaya.api.cluster.machine_set import MACHINE_SETS, MachineSet
from nagaya.api.cluster.machine_spec import MachineSpec
from nagaya.api.cluster.reference import ContractReference
from nagaya.clusters import owners
from nagaya.kube.patches import contains, difference

MANAGER: Final = "capi-machineset"
METADATA_MANAGER: Final = "capi-machineset-metadata"

FOR_TEARING_DOWN: Final = ("readinessGates", "deletion", "minReadySeconds", "taints")
"""The fields of a machine that still follow the set while the machine is being deleted."""


def machine_labels(machine_set: MachineSet) -> dict[str, str]:
    """The labels of machines of the set, and of their objects."""
    wanted = {
        **machine_set.spec.template.metadata.labels,
        label.CLUSTER_NAME: machine_set.spec.cluster_name,
        label.MACHINE_SET_NAME: as_label_value(machine_set.metadata.name),
    }
    if deployment := machine_set.metadata.labels.get(label.MACHINE_DEPLOYMENT_NAME):
        wanted[label.MACHINE_DEPLOYMENT_NAME] = deployment
    return wanted


def machine_annotations(machine_set: MachineSet) -> dict[str, str]:
    """The annotations of machines of the set, and of their objects."""
    return dict(machine_set.spec.template.metadata.annotations)


def new_machine(
    machine_set: MachineSet, name: str, bootstrap: ContractReference | None, infrastructure: ContractReference
) -> dict[str, Any]:
    """The content of a machine that is to be made."""
    template = machine_set.spec.template.spec
    spec = msgspec.structs.replace(
        template,
        cluster_name=machine_set.spec.cluster_name,
        bootstrap=msgspec.structs.replace(template.bootstrap, config_ref=bootstrap),
        infrastructure_ref=infrastructure,
    )
    return _content(machine_set, name, spec)


def existing_machine(machine_set: MachineSet, machine: Machine) -> dict[str, Any]:
    """What the set has to say about a machine."""
    content = _content(machine_set, machine.metadata.name, _existing_spec(machine_set, machine.spec))
    # With it, an apply never makes the machine anew that somebody deleted meanwhile.
    content["metadata"]["uid"] = machine.metadata.uid
    return content


def in_line(machine_set: MachineSet, machine: Machine) -> bool:
    """Whether a machine says all that the set does. It may say more."""
    metadata, present = machine.metadata, machine.spec
    if not (
        machine_labels(machine_set).items() <= metadata.labels.items()
        and machine_set.spec.template.metadata.annotations.items() <= metadata.annotations.items()
        and machines.FINALIZER in metadata.finalizers
        and owners.controller(MACHINE_SETS, machine_set) in metadata.owner_references
    ):
        return False
    wanted = _existing_spec(machine_set, present)
    # What others fill in is all that most machines say on top, and comparing structs is cheap.
    filled_in = msgspec.structs.replace(
        wanted,
        provider_id=present.provider_id,
        bootstrap=present.bootstrap if wanted.bootstrap.data_secret_name is None else wanted.bootstrap,
    )
    return filled_in == present or contains(msgspec.to_builtins(present), msgspec.to_builtins(wanted))


def fingerprint(machine_set: MachineSet) -> int:
    """A number that differs if the set says something else about its machines."""
    said = (
        machine_set.metadata.uid,
        machine_labels(machine_set),
        machine_annotations(machine_set),
        machine_set.spec.template.spec,
    )
    return hash(msgspec.json.encode(said, order="deterministic"))


def tearing_down(machine_set: MachineSet, machine: Machine) -> dict[str, Any] | None:
    """The merge patch for a machine that is being deleted. None if there is nothing to change."""
    template, present = machine_set.spec.template.spec, machine.spec
    deletion = template.deletion
    if deletion.node_deletion_timeout_seconds is None and present.deletion.node_deletion_timeout_seconds is not None:
        # Admission fills it in; taking it away again would go on forever.
        deletion = msgspec.structs.replace(
            deletion, node_deletion_timeout_seconds=DEFAULT_NODE_DELETION_TIMEOUT_SECONDS
        )
    patch = difference(
        _for_tearing_down(present), _for_tearing_down(msgspec.structs.replace(template, deletion=deletion))
    )
    return None if patch is None else {"spec": patch}


def _existing_spec(machine_set: MachineSet, present: MachineSpec) -> MachineSpec:
    template = machine_set.spec.template.spec
    return msgspec.structs.replace(
        template,
        cluster_name=machine_set.spec.cluster_name,
        bootstrap=msgspec.structs.replace(template.bootstrap, config_ref=present.bootstrap.config_ref),
        infrastructure_ref=present.infrastructure_ref,
        version=present.version,
        failure_domain=present.failure_domain,
    )


def _for_tearing_down(spec: MachineSpec) -> dict[str, Any]:
    content = msgspec.to_builtins(spec)
    return {name: content[name] for name in FOR_TEARING_DOWN if name in content}


def _content(machine_set: MachineSet, name: str, spec: MachineSpec) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": machine_set.metadata.namespace,
        "labels": machine_labels(machine_set),
        "finalizers": [machines.FINALIZER],
        "ownerReferences": [msgspec.to_builtins(owners.controller(MACHINE_SETS, machine_set))],
    }
    if annotations := machine_annotations(machine_set):
        metadata["annotations"] = annotations
    return {"metadata": metadata, "spec": msgspec.to_builtins(spec)}
