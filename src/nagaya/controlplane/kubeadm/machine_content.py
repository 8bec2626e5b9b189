"""What a control plane says about its machines: those it makes, and those that exist.

Labels, annotations, readiness gates, time limits of a deletion and taints follow the declaration while a machine
lives. Version, failure domain and the objects of providers stay what they were when the machine was made. All of it is
applied server-side, so what users and other controllers add to a machine survives.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from nagaya.api.cluster import labels as label
from nagaya.api.cluster import machine as machines
from nagaya.api.cluster.gate import Gate
from nagaya.api.cluster.label_value import as_label_value
from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_deletion import DEFAULT_NODE_DELETION_TIMEOUT_SECONDS, MachineDeletion
from nagaya.api.cluster.machine_spec import Bootstrap, MachineSpec
from nagaya.api.cluster.reference import ContractReference
from nagaya.api.controlplane import conditions as kubeadm
from nagaya.api.controlplane.kubeadm_control_plane import KUBEADM_CONTROL_PLANES, KubeadmControlPlane
from nagaya.api.controlplane.names import PRE_TERMINATE_HOOK_CLEANUP, REMEDIATION_FOR, REMEDIATION_IN_PROGRESS
from nagaya.clusters import owners
from nagaya.kube.patches import contains, difference

MANAGER: Final = "capi-kubeadmcontrolplane"
METADATA_MANAGER: Final = "capi-kubeadmcontrolplane-metadata"

GATES: Final = (
    kubeadm.MACHINE_NODE_KUBEADM_LABELS_AND_TAINTS_SET,
    kubeadm.MACHINE_API_SERVER_POD_HEALTHY,
    kubeadm.MACHINE_CONTROLLER_MANAGER_POD_HEALTHY,
    kubeadm.MACHINE_SCHEDULER_POD_HEALTHY,
)
ETCD_GATES: Final = (kubeadm.MACHINE_ETCD_POD_HEALTHY, kubeadm.MACHINE_ETCD_MEMBER_HEALTHY)
"""Conditions without which no machine of a control plane is Ready; the latter if it has an etcd member."""
_FOR_TEARING_DOWN: Final = ("deletion", "taints")


def etcd_managed(kcp: KubeadmControlPlane) -> bool:
    """Whether each machine has a member of the cluster's etcd."""
    return kcp.spec.kubeadm_config_spec.cluster_configuration.etcd.external is None


def machine_labels(kcp: KubeadmControlPlane, cluster: str) -> dict[str, str]:
    """The labels of machines, and of their objects."""
    return {
        **kcp.spec.machine_template.metadata.labels,
        label.CLUSTER_NAME: cluster,
        label.CONTROL_PLANE: "",
        label.CONTROL_PLANE_NAME: as_label_value(kcp.metadata.name),
    }


def machine_annotations(kcp: KubeadmControlPlane) -> dict[str, str]:
    """The annotations of machines, and of their objects."""
    return dict(kcp.spec.machine_template.metadata.annotations)


def new_machine(
    kcp: KubeadmControlPlane,
    cluster: str,
    name: str,
    failure_domain: str,
    config: ContractReference,
    infrastructure: ContractReference,
) -> dict[str, Any]:
    """The content of a machine that is to be made. One that replaces an unhealthy machine remembers that."""
    spec = MachineSpec(
        cluster_name=cluster,
        version=kcp.spec.version,
        failure_domain=failure_domain,
        bootstrap=Bootstrap(config_ref=config),
        infrastructure_ref=infrastructure,
        **_in_place(kcp),
    )
    return _content(kcp, cluster, name, spec, kcp.metadata.annotations.get(REMEDIATION_IN_PROGRESS))


def existing_machine(kcp: KubeadmControlPlane, cluster: str, machine: Machine) -> dict[str, Any]:
    """What the control plane has to say about a machine."""
    spec = _existing_spec(kcp, cluster, machine)
    content = _content(kcp, cluster, machine.metadata.name, spec, machine.metadata.annotations.get(REMEDIATION_FOR))
    # With it, an apply never makes the machine anew that somebody deleted meanwhile.
    content["metadata"]["uid"] = machine.metadata.uid
    return content


def in_line(kcp: KubeadmControlPlane, cluster: str, machine: Machine) -> bool:
    """Whether a machine says all that the control plane does. It may say more."""
    metadata = machine.metadata
    wanted = _said(_existing_spec(kcp, cluster, machine))
    return (
        machine_labels(kcp, cluster).items() <= metadata.labels.items()
        and _annotations(kcp, metadata.annotations.get(REMEDIATION_FOR)).items() <= metadata.annotations.items()
        and machines.FINALIZER in metadata.finalizers
        and owners.controller(KUBEADM_CONTROL_PLANES, kcp) in metadata.owner_references
        and contains(msgspec.to_builtins(machine.spec), wanted)
    )


def tearing_down(kcp: KubeadmControlPlane, machine: Machine) -> dict[str, Any] | None:
    """The merge patch for a machine that is being deleted. None if there is nothing to change."""
    present = machine.spec
    wanted = _in_place(kcp)
    deletion: MachineDeletion = wanted["deletion"]
    if deletion.node_deletion_timeout_seconds is None and present.deletion.node_deletion_timeout_seconds is not None:
        # Admission fills it in; taking it away again would go on forever.
        deletion = msgspec.structs.replace(
            deletion, node_deletion_timeout_seconds=DEFAULT_NODE_DELETION_TIMEOUT_SECONDS
        )
    after = msgspec.structs.replace(present, deletion=deletion, taints=wanted["taints"])
    patch = difference(_for_tearing_down(present), _for_tearing_down(after))
    return None if patch is None else {"spec": patch}


def fingerprint(kcp: KubeadmControlPlane, cluster: str) -> int:
    """A number that differs if the control plane says something else about its machines."""
    said = (kcp.metadata.uid, machine_labels(kcp, cluster), machine_annotations(kcp), _in_place(kcp))
    return hash(msgspec.json.encode(said, order="deterministic"))


def _existing_spec(kcp: KubeadmControlPlane, cluster: str, machine: Machine) -> MachineSpec:
    present = machine.spec
    return MachineSpec(
        cluster_name=cluster,
        version=present.version,
        failure_domain=present.failure_domain,
        bootstrap=Bootstrap(config_ref=present.bootstrap.config_ref),
        infrastructure_ref=present.infrastructure_ref,
        **_in_place(kcp),
    )


def _in_place(kcp: KubeadmControlPlane) -> dict[str, Any]:
    """What follows the declaration. minReadySeconds is left out: a machine is available once its components are."""
    template = kcp.spec.machine_template.spec
    mandatory = (*GATES, *ETCD_GATES) if etcd_managed(kcp) else GATES
    gates = {each: Gate(condition_type=each) for each in mandatory}
    for gate in template.readiness_gates:
        gates.setdefault(gate.condition_type, gate)
    deletion = template.deletion
    return {
        "readiness_gates": tuple(gates.values()),
        "deletion": MachineDeletion(
            node_drain_timeout_seconds=deletion.node_drain_timeout_seconds,
            node_volume_detach_timeout_seconds=deletion.node_volume_detach_timeout_seconds,
            node_deletion_timeout_seconds=deletion.node_deletion_timeout_seconds,
        ),
        "taints": template.taints,
    }


def _annotations(kcp: KubeadmControlPlane, remediation: str | None) -> dict[str, str]:
    wanted = {**machine_annotations(kcp), PRE_TERMINATE_HOOK_CLEANUP: ""}
    return wanted if remediation is None else {**wanted, REMEDIATION_FOR: remediation}


def _content(
    kcp: KubeadmControlPlane, cluster: str, name: str, spec: MachineSpec, remediation: str | None
) -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "namespace": kcp.metadata.namespace,
            "labels": machine_labels(kcp, cluster),
            "annotations": _annotations(kcp, remediation),
            "finalizers": [machines.FINALIZER],
            "ownerReferences": [msgspec.to_builtins(owners.controller(KUBEADM_CONTROL_PLANES, kcp))],
        },
        "spec": _said(spec),
    }


def _said(spec: MachineSpec) -> dict[str, Any]:
    """What a specification says: time limits of which none is given are none at all, and refused as an object."""
    content: dict[str, Any] = msgspec.to_builtins(spec)
    return {name: value for name, value in content.items() if value != {}}


def _for_tearing_down(spec: MachineSpec) -> dict[str, Any]:
    content = _said(spec)
    return {name: content[name] for name in _FOR_TEARING_DOWN if name in content}
