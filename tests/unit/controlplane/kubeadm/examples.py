"""Control planes in tests: `bridge`, of the cluster `harbour`, and the machines on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Self

import msgspec

from nagaya.api.bootstrap.kubeadm_config import KUBEADM_CONFIGS, KubeadmConfig
from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.controlplane.kubeadm_control_plane import KUBEADM_CONTROL_PLANES, KubeadmControlPlane
from nagaya.api.controlplane.names import FINALIZER
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.clusters.node import NODES, Node
from nagaya.controlplane.kubeadm.control_plane import ControlPlane
from nagaya.controlplane.kubeadm.health.examine import examine
from nagaya.controlplane.kubeadm.hosts import Host, HostTemplate
from nagaya.controlplane.kubeadm.kubeadm_config import kubeadm_spec
from nagaya.controlplane.kubeadm.machine_content import existing_machine
from nagaya.controlplane.kubeadm.seen import Connection, Seen
from nagaya.controlplane.kubeadm.tenant_seen import (
    COMPONENTS,
    EtcdSeen,
    MemberSeen,
    PodSeen,
    TenantSeen,
    pod_name,
)
from support.builders import CLUSTER, EARLIER, INFRASTRUCTURE, NAMESPACE, NOW, Draft, MachineDraft, date, provider
from support.builders import cluster as any_cluster
from support.builders import machine as any_machine

TEMPLATES = Kind("infrastructure.cluster.x-k8s.io", "v1", "BoatMachineTemplate", "boatmachinetemplates", Untyped)
VERSION = "v1.36.3"
NAME = "bridge"
ROLE = "node-role.kubernetes.io/control-plane"


class KcpDraft(Draft[KubeadmControlPlane]):
    """A KubeadmControlPlane that is being described."""

    def initialized(self, since: datetime = EARLIER) -> Self:
        """Whose tenant has answered once."""
        done = self.having(status={"initialization": {"controlPlaneInitialized": True}})
        return done.reporting("Initialized", "True", "Initialized", since=since)

    def wanting(self, **spec: Any) -> Self:
        """With another declaration."""
        return self.having(spec=spec)

    def surging(self, by: int) -> Self:
        """That rolls with so many machines more than declared."""
        return self.wanting(rollout={"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": by}}})


def kcp(replicas: int | None = 3, version: str = VERSION) -> KcpDraft:
    """A control plane that somebody has just declared, and that its Cluster owns."""
    owner = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": CLUSTER, "uid": f"uid-{CLUSTER}"}
    return KcpDraft(
        KUBEADM_CONTROL_PLANES,
        {
            "metadata": {
                "name": NAME,
                "namespace": NAMESPACE,
                "uid": f"uid-{NAME}",
                "resourceVersion": "1",
                "generation": 1,
                "creationTimestamp": date(EARLIER),
                "labels": {"cluster.x-k8s.io/cluster-name": CLUSTER},
                "finalizers": [FINALIZER],
                "ownerReferences": [owner],
            },
            "spec": {
                **({} if replicas is None else {"replicas": replicas}),
                "version": version,
                "machineTemplate": {
                    "spec": {"infrastructureRef": {"apiGroup": TEMPLATES.group, "kind": TEMPLATES.kind, "name": "boat"}}
                },
            },
        },
    )


class Pilot(MachineDraft):
    """A machine of the control plane that is being described."""

    @property
    def it(self) -> Machine:
        """The machine."""
        return self.made()

    def created(self, ago: timedelta) -> Self:
        return self.having(metadata={"creationTimestamp": date(NOW - ago)})

    def going(self, ago: timedelta = timedelta()) -> Self:
        return self.deleting(NOW - ago)

    def joined(self) -> Pilot:
        """With a Node of the same name as the machine."""
        name = self.content["metadata"]["name"]
        done = self.having(
            spec={"bootstrap": {"dataSecretName": name}, "providerID": f"boat:///{name}"},
            status={"nodeRef": {"name": name}},
        )
        for type in ("Ready", "Available", "NodeReady", "NodeHealthy"):
            done = done.reporting(type, "True")
        return done

    def given_up(self) -> Pilot:
        """That a health check gave up, for its control plane to replace."""
        failed = self.reporting("HealthCheckSucceeded", "False", "UnhealthyNode")
        return failed.reporting("OwnerRemediated", "False", "WaitingForRemediation")

    def in_domain(self, name: str) -> Self:
        return self.having(spec={"failureDomain": name})


def pilot(name: str, of: KubeadmControlPlane | None = None, version: str = VERSION) -> Pilot:
    """A machine that says all that it should, and has not got anywhere yet."""
    of = of or kcp().made()
    plain = Pilot(MACHINES, any_machine(name).content).having(
        metadata={"namespace": NAMESPACE, "uid": f"uid-{name}"},
        spec={
            "clusterName": CLUSTER,
            "version": version,
            "infrastructureRef": {"apiGroup": INFRASTRUCTURE.group, "kind": INFRASTRUCTURE.kind, "name": name},
            "bootstrap": {"configRef": {"apiGroup": KUBEADM_CONFIGS.group, "kind": "KubeadmConfig", "name": name}},
        },
    )
    content = existing_machine(of, CLUSTER, plain.made())
    return plain.having(**content)


def cluster(**parts: Any) -> Cluster:
    """The Cluster `harbour`, whose infrastructure is there."""
    reference = {"apiGroup": KUBEADM_CONTROL_PLANES.group, "kind": KUBEADM_CONTROL_PLANES.kind, "name": NAME}
    draft = any_cluster().having(
        spec={"controlPlaneRef": reference, "controlPlaneEndpoint": {"host": "10.0.0.9", "port": 6443}}
    )
    return draft.having(**parts).made()


def with_domains(*names: str) -> Cluster:
    """The Cluster with failure domains for control planes."""
    return cluster(status={"failureDomains": [{"name": each, "controlPlane": True} for each in names]})


def config(name: str, of: KubeadmControlPlane | None = None, *, join: bool = True) -> KubeadmConfig:
    """The KubeadmConfig of a machine, as the control plane made it."""
    of = of or kcp().made()
    draft = Draft(
        KUBEADM_CONFIGS,
        {
            "metadata": {
                "name": name,
                "namespace": NAMESPACE,
                "uid": f"uid-config-{name}",
                "labels": pilot(name, of).content["metadata"]["labels"],
                "annotations": {"machine.cluster.x-k8s.io/certificates-expiry": "2027-11-01T12:00:00Z"},
            }
        },
    )
    return msgspec.structs.replace(draft.made(), spec=kubeadm_spec(of, join=join))


def host(name: str, template: str = "boat") -> Host:
    """The infrastructure of a machine."""
    draft = provider(INFRASTRUCTURE, name).annotated(
        {
            "cluster.x-k8s.io/cloned-from-name": template,
            "cluster.x-k8s.io/cloned-from-groupkind": f"{TEMPLATES.kind}.{TEMPLATES.group}",
        }
    )
    labels = pilot(name).content["metadata"]["labels"]
    return Host(INFRASTRUCTURE, draft.labelled(labels).made(), f"boat:///{name}")


def template(**metadata: Any) -> HostTemplate:
    """The template `boat`, which goes with the cluster."""
    owner = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": CLUSTER, "uid": f"uid-{CLUSTER}"}
    content = {
        "apiVersion": TEMPLATES.api_version,
        "kind": TEMPLATES.kind,
        "metadata": {"name": "boat", "namespace": NAMESPACE, "ownerReferences": [owner], **metadata},
        "spec": {"template": {"spec": {"size": 3}}},
    }
    reference = kcp().made().spec.machine_template.spec.infrastructure_ref
    return HostTemplate(reference, TEMPLATES, INFRASTRUCTURE, Untyped(content))


def node(name: str, **more: Any) -> Node:
    """A Node of the control plane that is well."""
    content: dict[str, Any] = {
        "metadata": {"name": name, "labels": {ROLE: ""}, "creationTimestamp": date(EARLIER)},
        "spec": {"providerID": f"boat:///{name}", "taints": [{"key": ROLE, "effect": "NoSchedule"}]},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }
    return Draft(NODES, content).having(**more).made()


def member(name: str, number: int = 0, **more: Any) -> MemberSeen:
    """A member of etcd that is well."""
    return MemberSeen(number or (sum(map(ord, name)) or 1), name, **more)


def etcd(*names: str | MemberSeen, leader: str = "") -> EtcdSeen:
    """An etcd with members, of which the last leads unless told otherwise."""
    members = tuple(member(each) if isinstance(each, str) else each for each in names)
    leading = next((each for each in members if each.name == leader), members[-1] if members else None)
    return EtcdSeen(members, None if leading is None else leading.id)


def tenant(*nodes: str | Node, etcd: EtcdSeen | None = None, **more: Any) -> TenantSeen:
    """A tenant with Nodes on which everything runs."""
    found = [node(each) if isinstance(each, str) else each for each in nodes]
    names = [each.metadata.name for each in found]
    pods = {pod_name(component, name): PodSeen("Running") for name in names for component in COMPONENTS}
    defaults: dict[str, Any] = {
        "kubeadm_config": True,
        "nodes": {each.metadata.name: each for each in found},
        "pods": {**pods, **more.pop("pods", {})},
        "etcd": etcd if etcd is not None else _etcd_on(names),
    }
    return TenantSeen(**{**defaults, **more})


def _etcd_on(names: Iterable[str]) -> EtcdSeen:
    listed = [*names]
    return etcd(*listed) if listed else EtcdSeen()


def seen(of: KcpDraft | None = None, *machines: Pilot, **more: Any) -> Seen:
    """A control plane with everything it needs, machines with their objects, and a tenant that is well."""
    owner = (of or kcp()).made()
    found = tuple(sorted((each.it for each in machines), key=lambda each: each.metadata.name))
    nodes = [each.status.node_ref.name for each in found if each.status.node_ref is not None]
    known: Mapping[str, KubeadmConfig] = {each.metadata.name: config(each.metadata.name, owner) for each in found}
    defaults: dict[str, Any] = {
        "cluster": cluster(),
        "now": NOW,
        "template": template(),
        "machines": found,
        "configs": known,
        "hosts": {each.metadata.name: host(each.metadata.name) for each in found},
        "connection": Connection(NOW),
        "tenant": tenant(*nodes) if owner.status.initialization.control_plane_initialized else None,
        "settled": True,
    }
    return Seen(kcp=owner, **{**defaults, **more})


def plane(of: KcpDraft | None = None, *machines: Pilot, **more: Any) -> ControlPlane:
    """The same, examined."""
    return examine(seen(of, *machines, **more))


def running(*names: str, of: KcpDraft | None = None) -> list[Pilot]:
    """Machines on which everything runs."""
    owner = (of or kcp()).made()
    return [pilot(name, owner).joined() for name in names]


def without_pods(found: TenantSeen, *pods: str) -> TenantSeen:
    """A tenant in which some static pods do not exist."""
    return replace(found, pods={name: pod for name, pod in found.pods.items() if name not in pods})
