"""A Cluster and its objects, written down in a few words: what tests make pictures from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from nagaya.api.meta import ObjectMeta
from nagaya.api.untyped import Untyped
from nagaya.insight.picture.belonging import Gathered, pictured
from nagaya.insight.picture.member import member
from nagaya.insight.picture.picture import Picture

START = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
CORE = "cluster.x-k8s.io/v1beta2"
INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io/v1alpha1"
LABEL = "cluster.x-k8s.io/cluster-name"
Condition = tuple[str, str, str] | tuple[str, str, str, str] | tuple[str, str, str, str, int]
"""Type, status and reason; a message; seconds after the start."""


def at(seconds: float) -> str:
    """A moment of the scene, as objects have it."""
    return f"{START + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"


def condition(type: str, status: str, reason: str, message: str = "", seconds: int = 0) -> dict[str, Any]:
    """A condition as objects have it."""
    return {
        "type": type,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": at(seconds),
    }


@dataclass(slots=True)
class Scene:
    """Objects of the namespace `default`, which may belong to the Cluster `demo`."""

    objects: list[Untyped] = field(default_factory=list)
    events: list[Untyped] = field(default_factory=list)
    secrets: list[ObjectMeta] = field(default_factory=list)

    def add(
        self,
        kind: str,
        name: str,
        *conditions: Condition,
        version: str = INFRASTRUCTURE,
        owner: Untyped | None = None,
        labels: Mapping[str, str] | None = None,
        spec: Mapping[str, Any] | None = None,
        status: Mapping[str, Any] | None = None,
        deleting: int | None = None,
        namespace: str = "default",
        born: int = 0,
    ) -> Untyped:
        """An object; its uid is its kind and name."""
        metadata: dict[str, Any] = {
            "name": name,
            "uid": f"{kind}-{namespace}-{name}",
            "creationTimestamp": at(born),
            "labels": {LABEL: "demo"} if labels is None else dict(labels),
        }
        if namespace:
            metadata["namespace"] = namespace
        if owner is not None:
            metadata["ownerReferences"] = [
                {
                    "apiVersion": owner.api_version,
                    "kind": owner.kind,
                    "name": owner.metadata.name,
                    "uid": owner.metadata.uid,
                    "controller": True,
                }
            ]
        if deleting is not None:
            metadata["deletionTimestamp"] = at(deleting)
            metadata["finalizers"] = ["example.com/finalizer"]
        made = Untyped(
            {
                "apiVersion": version,
                "kind": kind,
                "metadata": metadata,
                "spec": dict(spec or {}),
                "status": {**(status or {}), "conditions": [condition(*each) for each in conditions]},
            }
        )
        self.objects.append(made)
        return made

    def cluster(self, *conditions: Condition, **more: Any) -> Untyped:
        """The Cluster, on a SimulatedCluster."""
        spec = {"infrastructureRef": reference("SimulatedCluster", "demo"), **more.pop("spec", {})}
        told = conditions or (("Available", "True", "Available"),)
        made = self.add("Cluster", "demo", *told, version=CORE, labels={}, spec=spec, **more)
        self.add("SimulatedCluster", "demo", ("Ready", "True", "Provisioned"), owner=made)
        return made

    def deployment(self, replicas: int = 2) -> Untyped:
        """A MachineDeployment `demo-workers`; returns its MachineSet."""
        spec = {"clusterName": "demo", "replicas": replicas, "template": {"spec": {"version": "v1.36.3"}}}
        counts = {"replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas}
        status = {**counts, "upToDateReplicas": replicas}
        told = ("Available", "True", "Available")
        deployment = self.add("MachineDeployment", "demo-workers", told, version=CORE, spec=spec, status=status)
        return self.add("MachineSet", "demo-workers-x", version=CORE, owner=deployment, spec=spec)

    def machine(self, name: str, owner: Untyped | None = None, *conditions: Condition, **more: Any) -> Untyped:
        """A Machine on a SimulatedMachine of the same name, both ready unless something else is said."""
        spec = {
            "clusterName": "demo",
            "version": "v1.36.3",
            "providerID": f"simulated://default/{name}",
            "infrastructureRef": reference("SimulatedMachine", name),
        }
        good = [(each, "True", each) for each in ("Available", "Ready", "UpToDate")]
        host = more.pop("host", ("Ready", "True", "Provisioned"))
        made = self.add("Machine", name, *(conditions or good), version=CORE, owner=owner, spec=spec, **more)
        if host is not None:
            self.add("SimulatedMachine", name, host, owner=made)
        return made

    def event(self, regarding: Untyped, reason: str, note: str, seconds: float, **more: Any) -> None:
        """Something that was told of an object."""
        self.events.append(
            Untyped(
                {
                    "metadata": {"name": f"e{len(self.events)}", "namespace": "default", "uid": f"e{len(self.events)}"},
                    "eventTime": f"{START + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S.%fZ}",
                    "type": "Normal",
                    "reason": reason,
                    "note": note,
                    "regarding": {
                        "kind": regarding.kind,
                        "name": regarding.metadata.name,
                        "namespace": regarding.metadata.namespace,
                        "uid": regarding.metadata.uid,
                    },
                    **more,
                }
            )
        )

    def picture(self) -> Picture:
        """The picture of `demo`."""
        cluster = next(each for each in self.objects if each.kind == "Cluster" and each.metadata.name == "demo")
        gathered = Gathered(tuple((each, "v1beta2") for each in self.objects), tuple(self.secrets), tuple(self.events))
        return pictured(member(cluster, "v1beta2"), gathered)


def reference(kind: str, name: str, group: str = "infrastructure.cluster.x-k8s.io") -> dict[str, str]:
    """A reference of the contract."""
    return {"apiGroup": group, "kind": kind, "name": name}
