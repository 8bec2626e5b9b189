"""Objects of clusters in tests, told by what matters about them: `machine("a").running().deleting().made()`.

A draft is a value: every method gives a new one. What is not mentioned is as a plain manifest would have it, and the
result went through the same decoder as an object from a server.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, Self, TypeVar

from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.machine import FINALIZER, MACHINES, Machine
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS, MachineDeployment
from nagaya.api.cluster.machine_set import MACHINE_SETS, MachineSet
from nagaya.api.kind import Kind, Object
from nagaya.api.untyped import Untyped

T = TypeVar("T", bound=Object)

NAMESPACE = "fleet"
CLUSTER = "harbour"
NOW = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
EARLIER = NOW - timedelta(hours=1)

INFRASTRUCTURE = Kind("infrastructure.cluster.x-k8s.io", "v1", "BoatMachine", "boatmachines", Untyped)
BOOTSTRAP = Kind("bootstrap.cluster.x-k8s.io", "v1", "BoatConfig", "boatconfigs", Untyped)
CONTROL_PLANE = Kind("controlplane.cluster.x-k8s.io", "v1", "BoatControlPlane", "boatcontrolplanes", Untyped)


def date(when: datetime) -> str:
    """A date as it stands in an object."""
    return f"{when:%Y-%m-%dT%H:%M:%SZ}"


class Draft(Generic[T]):
    """An object that is being described."""

    def __init__(self, kind: Kind[T], content: Mapping[str, Any]) -> None:
        self.kind = kind
        self.content = content

    def having(self, **parts: Any) -> Self:
        """With more content; objects are merged, all else is replaced, None removes."""
        draft = type(self).__new__(type(self))
        draft.kind = self.kind
        draft.content = _merged(self.content, parts)
        return draft

    def labelled(self, labels: Mapping[str, str | None]) -> Self:
        return self.having(metadata={"labels": labels})

    def annotated(self, annotations: Mapping[str, str | None]) -> Self:
        return self.having(metadata={"annotations": annotations})

    def owned_by(self, owner: Object, kind: Kind[Any], *, controller: bool = False) -> Self:
        """With one more owner."""
        reference: dict[str, Any] = {"apiVersion": kind.api_version, "kind": kind.kind}
        reference |= {"name": owner.metadata.name, "uid": owner.metadata.uid}
        if controller:
            reference |= {"controller": True, "blockOwnerDeletion": True}
        owners = self.content["metadata"].get("ownerReferences", [])
        return self.having(metadata={"ownerReferences": [*owners, reference]})

    def deleting(self, since: datetime = NOW) -> Self:
        return self.having(metadata={"deletionTimestamp": date(since)})

    def reporting(self, type: str, status: str, reason: str = "", message: str = "", since: datetime = EARLIER) -> Self:
        """With a condition, in place of the one of the same type."""
        condition: dict[str, Any] = {"type": type, "status": status, "reason": reason or type, "message": message}
        condition["lastTransitionTime"] = date(since)
        present = self.content.get("status", {}).get("conditions", [])
        others = [each for each in present if each["type"] != type]
        return self.having(status={"conditions": [*others, condition]})

    def made(self) -> T:
        """The object."""
        return self.kind.convert(self.content)


class MachineDraft(Draft[Machine]):
    """A Machine that is being described."""

    def control_plane(self) -> MachineDraft:
        return self.labelled({"cluster.x-k8s.io/control-plane": "", "cluster.x-k8s.io/control-plane-name": CLUSTER})

    def of_deployment(self, machine_set: MachineSet) -> MachineDraft:
        """Made by a MachineSet of a MachineDeployment."""
        known = machine_set.metadata.labels.get("cluster.x-k8s.io/deployment-name")
        labels = {"cluster.x-k8s.io/set-name": machine_set.metadata.name, "cluster.x-k8s.io/deployment-name": known}
        return self.owned_by(machine_set, MACHINE_SETS, controller=True).labelled(labels)

    def provisioned(self) -> MachineDraft:
        """With boot data and a host."""
        name = self.content["metadata"]["name"]
        return self.having(
            spec={"bootstrap": {"dataSecretName": f"{name}-data"}, "providerID": f"boat:///{name}"},
            status={
                "phase": "Provisioned",
                "initialization": {"bootstrapDataSecretCreated": True, "infrastructureProvisioned": True},
            },
        )

    def running(self) -> MachineDraft:
        """With a Node, too."""
        name = self.content["metadata"]["name"]
        return self.provisioned().having(status={"phase": "Running", "nodeRef": {"name": f"node-{name}"}})


def machine(name: str = "a") -> MachineDraft:
    """A Machine that a user has just made."""
    return MachineDraft(
        MACHINES,
        {
            **_object(name, finalizers=[FINALIZER], labels={"cluster.x-k8s.io/cluster-name": CLUSTER}),
            "spec": {
                "clusterName": CLUSTER,
                "version": "v1.36.3",
                "bootstrap": {"configRef": _reference(BOOTSTRAP, name)},
                "infrastructureRef": _reference(INFRASTRUCTURE, name),
            },
        },
    )


def cluster(name: str = CLUSTER) -> Draft[Cluster]:
    """A Cluster whose control plane has answered."""
    draft = Draft(
        CLUSTERS,
        {
            **_object(name),
            "spec": {"controlPlaneRef": _reference(CONTROL_PLANE, name)},
            "status": {"initialization": {"infrastructureProvisioned": True, "controlPlaneInitialized": True}},
        },
    )
    return draft.reporting("ControlPlaneInitialized", "True", "Initialized")


def machine_deployment(name: str = "workers", revision: int = 1) -> Draft[MachineDeployment]:
    """A MachineDeployment."""
    return Draft(
        MACHINE_DEPLOYMENTS,
        {
            **_object(name, annotations={"machinedeployment.clusters.x-k8s.io/revision": str(revision)}),
            "spec": {"clusterName": CLUSTER, "selector": {}, "template": _template()},
        },
    )


def machine_set(name: str = "workers-1", deployment: str = "workers", revision: int = 1) -> Draft[MachineSet]:
    """A MachineSet of a MachineDeployment."""
    return Draft(
        MACHINE_SETS,
        {
            **_object(
                name,
                annotations={"machinedeployment.clusters.x-k8s.io/revision": str(revision)},
                labels={"cluster.x-k8s.io/deployment-name": deployment} if deployment else {},
            ),
            "spec": {"clusterName": CLUSTER, "selector": {}, "template": _template()},
        },
    )


def provider(kind: Kind[Untyped], name: str = "a") -> Draft[Untyped]:
    """An object of a provider that has done nothing yet."""
    return Draft(kind, _object(name, labels={"cluster.x-k8s.io/cluster-name": CLUSTER}))


def _object(name: str, **metadata: Any) -> dict[str, Any]:
    made = {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}", "resourceVersion": "1", "generation": 1}
    return {"metadata": {**made, "creationTimestamp": date(EARLIER), **metadata}}


def _reference(kind: Kind[Untyped], name: str) -> dict[str, str]:
    return {"apiGroup": kind.group, "kind": kind.kind, "name": name}


def _template() -> dict[str, Any]:
    return {
        "spec": {
            "clusterName": CLUSTER,
            "version": "v1.36.3",
            "bootstrap": {"configRef": {**_reference(BOOTSTRAP, "boot"), "kind": f"{BOOTSTRAP.kind}Template"}},
            "infrastructureRef": {**_reference(INFRASTRUCTURE, "host"), "kind": f"{INFRASTRUCTURE.kind}Template"},
        }
    }


def _merged(content: Mapping[str, Any], parts: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(content)
    for name, part in parts.items():
        present = result.get(name)
        if part is None:
            result.pop(name, None)
        elif isinstance(part, Mapping):
            result[name] = _merged(present if isinstance(present, Mapping) else {}, part)
        else:
            result[name] = part
    return result
