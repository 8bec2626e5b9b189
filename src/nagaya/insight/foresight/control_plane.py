"""The kubeadm control plane of a fleet, decided by its controller's own planner.

The planner asks the tenant for its Nodes, pods and etcd members. Nobody is asked here: whoever has a Node is taken to
have all of these, and each machine that is not well now stays so, but for one that has just come.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

import msgspec

from nagaya.api.bootstrap.kubeadm_config import KUBEADM_CONFIGS
from nagaya.api.cluster.annotations import CERTIFICATES_EXPIRY
from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_conditions import MachineCondition, MachineReason
from nagaya.api.cluster.pause import why_paused
from nagaya.api.cluster.reference import ContractReference
from nagaya.api.contract.template import clone
from nagaya.api.controlplane.kubeadm_control_plane import KUBEADM_CONTROL_PLANES, KubeadmControlPlane
from nagaya.api.controlplane.names import PRE_TERMINATE_HOOK_CLEANUP, REMEDIATION_IN_PROGRESS
from nagaya.api.untyped import Untyped
from nagaya.clusters import owners
from nagaya.clusters.node import NODES, Node
from nagaya.controlplane.kubeadm import actions as act
from nagaya.controlplane.kubeadm.control_plane import COMPONENT_CONDITIONS
from nagaya.controlplane.kubeadm.health.components import CONTROL_PLANE_ROLE
from nagaya.controlplane.kubeadm.health.examine import examine
from nagaya.controlplane.kubeadm.hosts import Host, HostTemplate
from nagaya.controlplane.kubeadm.kubeadm_config import new_config
from nagaya.controlplane.kubeadm.machine_content import machine_annotations, machine_labels, new_machine
from nagaya.controlplane.kubeadm.plan import plan
from nagaya.controlplane.kubeadm.seen import Connection, Seen
from nagaya.controlplane.kubeadm.status import status
from nagaya.controlplane.kubeadm.tenant_seen import COMPONENTS, EtcdSeen, MemberSeen, PodSeen, TenantSeen, pod_name
from nagaya.insight.foresight.fleet import Fleet
from nagaya.kube.conditions import is_false

COMING: Final = timedelta(minutes=2)
"""How long the parts of a control plane may be missing on a machine that has just become a Node."""


def begin(fleet: Fleet) -> None:
    """Machines that have just joined come up, as those do that are yet to come. What is ill for longer stays so."""
    for machine in fleet.of_plane():
        if machine.status.node_ref is None or machine.metadata.deleting:
            continue
        fresh = [
            each.type
            for each in machine.status.conditions
            if each.type in COMPONENT_CONDITIONS
            and each.status != "True"
            and fleet.now - each.last_transition_time <= COMING
        ]
        fleet.says(machine.metadata.name, *fresh)


def look_at_control_plane(fleet: Fleet) -> None:
    """One look of the control plane at its machines."""
    kcp = fleet.kubeadm
    if kcp is None or why_paused(fleet.cluster, kcp, KUBEADM_CONTROL_PLANES.kind):
        return
    seen = _seen(fleet, kcp)
    decided = plan(examine(seen))
    title = f"KubeadmControlPlane {kcp.metadata.name}"
    if decided.problem:
        fleet.blocked[title] = (decided.why,)
    else:
        fleet.blocked.pop(title, None)
    for action in decided.actions:
        _do(fleet, kcp, action, title)
    after = examine(replace(_seen(fleet, fleet.kubeadm or kcp), tenant=seen.tenant))
    told = status(after, decided, complete=True)
    fleet.kubeadm = msgspec.structs.replace(fleet.kubeadm or kcp, status=told)
    fleet.plane = Untyped(KUBEADM_CONTROL_PLANES.content(fleet.kubeadm))
    for machine in after.machines:
        name = machine.metadata.name
        if name in fleet.machines:
            fleet.machines[name] = msgspec.structs.replace(fleet.machines[name], status=machine.status)


def _do(fleet: Fleet, kcp: KubeadmControlPlane, action: act.Action, title: str) -> None:
    match action:
        case act.CreateMachine(failure_domain=domain, join=join, why=why):
            _make(fleet, kcp, domain, join=join, title=title, why=why)
        case act.DeleteMachine(machine=machine, why=why):
            fleet.remove(fleet.machines[machine.metadata.name], title, why)
        case act.RemoveHook(machine=machine):
            _annotate(fleet, machine.metadata.name, PRE_TERMINATE_HOOK_CLEANUP)
        case act.RememberRemediation(record=record):
            annotations = {k: v for k, v in kcp.metadata.annotations.items() if k != REMEDIATION_IN_PROGRESS}
            if record is not None:
                annotations[REMEDIATION_IN_PROGRESS] = record
            metadata = msgspec.structs.replace(kcp.metadata, annotations=annotations)
            fleet.kubeadm = msgspec.structs.replace(fleet.kubeadm or kcp, metadata=metadata)
        case _:
            return  # what goes on in the tenant, and what only changes labels, owners and notes


def _make(fleet: Fleet, kcp: KubeadmControlPlane, domain: str, *, join: bool, title: str, why: str) -> None:
    cluster, name = fleet.cluster.metadata.name, fleet.name(kcp.metadata.name)
    template = fleet.template(kcp.spec.machine_template.spec.infrastructure_ref)
    assert template.object is not None, "without a template the planner makes no machine"
    assert template.made is not None
    config = new_config(kcp, cluster, name, join=join)
    # A machine that comes up says when its certificates end; nobody looks here.
    config["metadata"]["annotations"] = {
        **config["metadata"].get("annotations", {}),
        CERTIFICATES_EXPIRY: "9999-01-01T00:00:00Z",
    }
    fleet.configs[name] = KUBEADM_CONFIGS.convert(config)
    fleet.hosts[name] = clone(
        template.object,
        name=name,
        cluster=cluster,
        owner=owners.owner(KUBEADM_CONTROL_PLANES, kcp),
        labels=machine_labels(kcp, cluster),
        annotations=machine_annotations(kcp),
    )
    content = new_machine(
        kcp,
        cluster,
        name,
        domain,
        ContractReference(api_group=KUBEADM_CONFIGS.group, kind=KUBEADM_CONFIGS.kind, name=name),
        ContractReference(api_group=template.made.group, kind=template.made.kind, name=name),
    )
    fleet.add(content, title, why)


def waits_for_hook(machine: Machine) -> bool:
    """Whether a machine that goes is held until its etcd member is out."""
    return PRE_TERMINATE_HOOK_CLEANUP in machine.metadata.annotations


def tell_hook(fleet: Fleet, machine: Machine) -> None:
    """A machine that goes has been drained, and waits."""
    name = machine.metadata.name
    fleet.says(name, MachineCondition.DELETING, reason=MachineReason.WAITING_FOR_PRE_TERMINATE_HOOK)


def _annotate(fleet: Fleet, name: str, gone: str) -> None:
    machine = fleet.machines[name]
    annotations = {key: value for key, value in machine.metadata.annotations.items() if key != gone}
    metadata = msgspec.structs.replace(machine.metadata, annotations=annotations)
    fleet.machines[name] = msgspec.structs.replace(machine, metadata=metadata)


def _seen(fleet: Fleet, kcp: KubeadmControlPlane) -> Seen:
    machines = tuple(fleet.of_plane())
    template = fleet.template(kcp.spec.machine_template.spec.infrastructure_ref)
    hosts = {}
    for machine in machines:
        obj = fleet.hosts.get(machine.metadata.name)
        if obj is not None and template.made is not None:
            hosts[machine.metadata.name] = Host(template.made, obj, machine.spec.provider_id or "")
    names = {each.metadata.name for each in machines}
    return Seen(
        kcp=kcp,
        cluster=fleet.cluster,
        now=fleet.now,
        template=HostTemplate(template.reference, template.kind, template.made, template.object, template.problem),
        machines=machines,
        workers=tuple(name for name in fleet.machines if name not in names),
        configs={name: each for name, each in fleet.configs.items() if name in names},
        hosts=hosts,
        connection=Connection(fleet.now),
        tenant=_tenant(fleet, machines),
        settled=True,
    )


def _tenant(fleet: Fleet, machines: tuple[Machine, ...]) -> TenantSeen | None:
    up = [each for each in machines if each.status.node_ref is not None]
    if not up:
        return None
    nodes: dict[str, Node] = {}
    pods: dict[str, PodSeen] = {}
    members: list[MemberSeen] = []
    for number, machine in enumerate(up, 1):
        assert machine.status.node_ref is not None
        name = machine.status.node_ref.name
        well = not any(is_false(machine.status.conditions, each) for each in COMPONENT_CONDITIONS) or (
            machine.metadata.deleting
        )
        nodes[name] = _node(fleet, machine, name)
        pods |= {pod_name(each, name): PodSeen("Running", ready=well) for each in COMPONENTS}
        if not machine.metadata.deleting or waits_for_hook(machine):
            members.append(MemberSeen(number, name))
    return TenantSeen(
        kubeadm_config=True, nodes=nodes, pods=pods, etcd=EtcdSeen(tuple(members), members[0].id if members else None)
    )


def _node(fleet: Fleet, machine: Machine, name: str) -> Node:
    created = machine.metadata.creation_timestamp or fleet.now
    return NODES.convert(
        {
            "metadata": {
                "name": name,
                "labels": {CONTROL_PLANE_ROLE: ""},
                "creationTimestamp": f"{created:%Y-%m-%dT%H:%M:%SZ}",
            },
            "spec": {
                "providerID": machine.spec.provider_id or "",
                "taints": [{"key": CONTROL_PLANE_ROLE, "effect": "NoSchedule"}],
            },
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        }
    )
