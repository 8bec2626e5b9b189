"""What plans and statuses of a MachineSet are made from in tests: a set `workers` of the cluster `shop`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Self

import msgspec

from nagaya.api.cluster import machine_set as machine_sets
from nagaya.api.cluster.cluster import Cluster, ClusterSpec
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_deployment import DeploymentRemediation, MachineDeployment, MachineDeploymentSpec
from nagaya.api.cluster.machine_set import MACHINE_SETS, MachineSet, MachineSetSpec
from nagaya.api.cluster.machine_spec import Bootstrap, MachineSpec, MachineTemplate
from nagaya.api.cluster.reference import ContractReference
from nagaya.api.cluster.selector import LabelSelector
from nagaya.api.cluster.template_metadata import TemplateMetadata
from nagaya.api.contract.provider import ControlPlane
from nagaya.api.kind import Kind
from nagaya.api.meta import ObjectMeta, OwnerReference
from nagaya.api.untyped import Untyped
from nagaya.clusters.owners import controller
from nagaya.core.machine_set.propagation import machine_labels
from nagaya.core.machine_set.provider_objects import Made, Template
from nagaya.core.machine_set.seen import Seen, selector_of
from support.builders import NOW, MachineDraft, date
from support.builders import machine as any_machine

HOSTS = Kind("infrastructure.cluster.x-k8s.io", "v1", "TestMachine", "testmachines", Untyped)
CONFIGS = Kind("bootstrap.cluster.x-k8s.io", "v1", "TestConfig", "testconfigs", Untyped)
HOST_TEMPLATES = Kind("infrastructure.cluster.x-k8s.io", "v1", "TestMachineTemplate", "testmachinetemplates", Untyped)
CONFIG_TEMPLATES = Kind("bootstrap.cluster.x-k8s.io", "v1", "TestConfigTemplate", "testconfigtemplates", Untyped)
CLUSTER_OWNER = OwnerReference(api_version="cluster.x-k8s.io/v1beta2", kind="Cluster", name="shop", uid="uid-of-shop")
NAMESPACE = "tenants"
LABELS = {"cluster.x-k8s.io/cluster-name": "shop", "set": "workers"}


def _small(kind: Kind[Untyped]) -> ContractReference:
    return ContractReference(api_group=kind.group, kind=kind.kind, name="small")


def workers(replicas: int | None = 2, *, version: str = "v1.36.3", **metadata: Any) -> MachineSet:
    """A set that stands alone and is as it should be."""
    defaults: dict[str, Any] = {
        "name": "workers",
        "namespace": NAMESPACE,
        "uid": "uid-of-workers",
        "generation": 1,
        "labels": {"cluster.x-k8s.io/cluster-name": "shop"},
        "finalizers": (machine_sets.FINALIZER,),
        "owner_references": (CLUSTER_OWNER,),
    }
    return MachineSet(
        metadata=ObjectMeta(**{**defaults, **metadata}),
        spec=MachineSetSpec(
            cluster_name="shop",
            replicas=replicas,
            selector=LabelSelector(match_labels=LABELS),
            template=MachineTemplate(
                metadata=TemplateMetadata(labels=LABELS),
                spec=MachineSpec(
                    cluster_name="shop",
                    version=version,
                    bootstrap=Bootstrap(config_ref=_small(CONFIG_TEMPLATES)),
                    infrastructure_ref=_small(HOST_TEMPLATES),
                ),
            ),
        ),
    )


def of_deployment(machine_set: MachineSet, revision: str = "1") -> MachineSet:
    """The set as a part of the MachineDeployment `web`."""
    metadata = machine_set.metadata
    owner = OwnerReference(
        api_version="cluster.x-k8s.io/v1beta2", kind="MachineDeployment", name="web", uid="uid-of-web", controller=True
    )
    changed = msgspec.structs.replace(
        metadata,
        labels={**metadata.labels, "cluster.x-k8s.io/deployment-name": "web"},
        annotations={**metadata.annotations, "machinedeployment.clusters.x-k8s.io/revision": revision},
        owner_references=(owner,),
    )
    return msgspec.structs.replace(machine_set, metadata=changed)


def deployment(
    revision: str = "1", max_in_flight: int | str | None = None, replicas: int | None = None
) -> MachineDeployment:
    """The MachineDeployment `web`."""
    template = workers().spec
    return MachineDeployment(
        metadata=ObjectMeta(
            name="web",
            namespace=NAMESPACE,
            uid="uid-of-web",
            annotations={"machinedeployment.clusters.x-k8s.io/revision": revision},
        ),
        spec=MachineDeploymentSpec(
            cluster_name="shop",
            replicas=replicas,
            selector=template.selector,
            template=template.template,
            remediation=DeploymentRemediation(max_in_flight=max_in_flight),
        ),
    )


class Worker(MachineDraft):
    """A machine of a set that is being described."""

    @property
    def it(self) -> Machine:
        """The machine."""
        return self.made()

    def working(self) -> Self:
        """With a node, and everything in order."""
        done = self.having(status={"nodeRef": {"name": self.content["metadata"]["name"]}})
        for type in ("Ready", "Available", "UpToDate", "NodeReady", "NodeHealthy"):
            done = done.reporting(type, "True")
        return done

    def marked(self, *annotations: str) -> Self:
        """With annotations that only have to be there."""
        return self.annotated(dict.fromkeys(annotations, ""))

    def created(self, ago: timedelta) -> Self:
        """Made some time ago."""
        return self.having(metadata={"creationTimestamp": date(NOW - ago)})

    def going(self, ago: timedelta = timedelta()) -> Self:
        """Somebody asked for its deletion some time ago."""
        return self.deleting(NOW - ago)


def worker(name: str, machine_set: MachineSet | None = None) -> Worker:
    """A machine of the set that says all that it should, and has not got anywhere yet."""
    machine_set = machine_set or workers()
    owner = msgspec.to_builtins(controller(MACHINE_SETS, machine_set))
    reference = {"name": name, "apiGroup": HOSTS.group, "kind": HOSTS.kind}
    config = {"name": name, "apiGroup": CONFIGS.group, "kind": CONFIGS.kind}
    return Worker(MACHINES, any_machine(name).content).having(
        metadata={"namespace": NAMESPACE, "labels": machine_labels(machine_set), "ownerReferences": [owner]},
        spec={"clusterName": "shop", "infrastructureRef": reference, "bootstrap": {"configRef": config}},
    )


def cluster(**spec: Any) -> Cluster:
    """The Cluster `shop`, with a control plane."""
    ref = ContractReference(api_group="controlplane.cluster.x-k8s.io", kind="TestControlPlane", name="cp")
    metadata = ObjectMeta(name="shop", namespace=NAMESPACE, uid="uid-of-shop")
    return Cluster(metadata=metadata, spec=ClusterSpec(**{"control_plane_ref": ref, **spec}))


def control_plane(version: str | None = "v1.36.3", *running: str, contract: str = "v1beta2") -> ControlPlane:
    """Its control plane; it runs the version that it should unless told otherwise."""
    versions = running if running or version is None else (version,)
    content: dict[str, Any] = {
        "apiVersion": "controlplane.cluster.x-k8s.io/v1",
        "kind": "TestControlPlane",
        "metadata": {"name": "cp", "namespace": NAMESPACE},
        "spec": {} if version is None else {"version": version},
        "status": {"versions": [{"version": each} for each in versions if each]},
    }
    return ControlPlane(Untyped(content), contract)


def template(kind: Kind[Untyped], made: Kind[Untyped], **annotations: str) -> Template:
    """A template `small` that goes with the cluster."""
    reference = _small(kind)
    metadata = {
        "name": "small",
        "namespace": NAMESPACE,
        "annotations": annotations,
        "ownerReferences": [msgspec.to_builtins(CLUSTER_OWNER)],
    }
    return Template(reference, kind, made, Untyped({"metadata": metadata}))


def made(kind: Kind[Untyped], name: str, **metadata: Any) -> Made:
    """An object of a provider with the labels of the set."""
    content = {
        "kind": kind.kind,
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "uid": f"uid-of-{kind.kind}-{name}",
            "labels": machine_labels(workers()),
            **metadata,
        },
    }
    return Made(kind, Untyped(content))


def seen(machine_set: MachineSet | None = None, *machines: Worker, **more: Any) -> Seen:
    """A set with everything it needs, and machines with their objects."""
    machine_set = machine_set or workers()
    found = tuple(sorted((each.it for each in machines), key=lambda each: each.metadata.name))
    defaults: dict[str, Any] = {
        "now": NOW,
        "cluster": cluster(),
        "selector": selector_of(machine_set),
        "machines": found,
        "infrastructure": template(HOST_TEMPLATES, HOSTS),
        "bootstrap": template(CONFIG_TEMPLATES, CONFIGS),
        "provider_objects": {
            each.metadata.name: (made(CONFIGS, each.metadata.name), made(HOSTS, each.metadata.name)) for each in found
        },
        "control_plane": control_plane(),
        "settled": True,
    }
    return Seen(machine_set=machine_set, **{**defaults, **more})
