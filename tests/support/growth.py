"""Objects of every kind, grown in one place at a time: what the test of super-linear cost sends.

The types that the server itself knows (`Resource.struct`) say where an object has lists, maps, texts and nested values.
For each such place there is an object of a given size, whose items are all different or all the same. Values that the
server refuses are replaced where that is possible (`repairs`). Other objects are refused, which must not cost more.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from nagaya.apiserver.builtins.gotypes import GoStruct
from nagaya.apiserver.registry.resource import Resource
from nagaya.apiserver.schema.types import List, Map, Scalar, Struct, Type, Untyped
from support.repairs import Path, Repairs

JsonObject = dict[str, Any]
_DEEP: Final = "@nested@"
Step = str | None
"""Into a member, or (None) into the item of a list or the entry of a map."""

_CONTAINERS: Final = [{"name": "c", "image": "i"}]
_TEMPLATE: Final = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": _CONTAINERS}}
_WORKLOAD: Final = {"selector": {"matchLabels": {"a": "b"}}, "template": _TEMPLATE}
_JOB: Final = {"template": {"spec": {"containers": _CONTAINERS, "restartPolicy": "Never"}}}
_ROLE: Final = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
_CRD: Final = {
    "group": "example.com",
    "scope": "Namespaced",
    "names": {"plural": "grown", "singular": "grown", "kind": "Grown", "listKind": "GrownList"},
    "versions": [
        {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}},
    ],
}
_PROXMOX_CLUSTER: Final = {
    "dnsServers": ["10.0.0.1"],
    "ipv4Config": {"addresses": ["10.0.0.10-10.0.0.20"], "prefix": 24, "gateway": "10.0.0.1"},
}
_PROXMOX_MACHINE: Final = {"network": {"networkDevices": [{"name": "net0", "bridge": "vmbr0"}]}}
# What an object needs to be looked at more closely.
BASES: Final[dict[str, JsonObject]] = {
    "Pod": {"spec": {"containers": _CONTAINERS}},
    "PodTemplate": {"template": _TEMPLATE},
    "ReplicationController": {"spec": {"selector": {"a": "b"}, "template": _TEMPLATE}},
    **{kind: {"spec": _WORKLOAD} for kind in ("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet")},
    "Job": {"spec": _JOB},
    "CronJob": {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": _JOB}}},
    "Service": {"spec": {"ports": [{"port": 80}]}},
    "RoleBinding": {"roleRef": _ROLE},
    "ClusterRoleBinding": {"roleRef": _ROLE},
    "Ingress": {"spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}},
    "EndpointSlice": {"addressType": "IPv4"},
    "PersistentVolume": {
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a"}}
    },
    "PersistentVolumeClaim": {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    },
    "CustomResourceDefinition": {"spec": _CRD},
    "HorizontalPodAutoscaler": {"spec": {"maxReplicas": 2, "scaleTargetRef": {"kind": "A", "name": "a"}}},
    "StorageClass": {"provisioner": "a.b/c"},
    "Cluster": {"spec": {"paused": True}},
    "HostedControlPlane": {"spec": {"version": "v1.36.3"}},
    "DataStore": {"spec": {"driver": "etcd", "endpoints": ["10.0.0.1:2379"]}},
    "ProxmoxCluster": {"spec": _PROXMOX_CLUSTER},
    "ProxmoxClusterTemplate": {"spec": {"template": {"spec": _PROXMOX_CLUSTER}}},
    "ProxmoxConnection": {"spec": {"credentialsRef": {"name": "a"}}},
    "ProxmoxMachine": {"spec": _PROXMOX_MACHINE},
    "ProxmoxMachineTemplate": {"spec": {"template": {"spec": _PROXMOX_MACHINE}}},
}


@dataclass(frozen=True)
class Place:
    """Where an object of a kind can grow."""

    resource: Resource
    steps: tuple[Step, ...]
    type: Type
    is_depth: bool = False

    def __str__(self) -> str:
        path = "".join("[]" if step is None else f".{step}" for step in self.steps)
        return f"{self.resource.gvr.resource}.{self.resource.gvr.version}{path}{' (depth)' if self.is_depth else ''}"

    @property
    def has_items(self) -> bool:
        """Whether it is a list or a map that grows."""
        return isinstance(self.type, (List, Map))

    def grown(
        self, name: str, size: int, *, first: int = 0, same: bool = False, repairs: Repairs | None = None
    ) -> bytes:
        """An object with so many items, entries, characters or levels at this place, counted from `first`."""
        resource = self.resource
        base = {"metadata": {"name": name}, **deepcopy(BASES.get(resource.kind, {}))}
        value = self._value(size, first, same=same)
        obj: JsonObject = _placed(base, resource.struct, self.steps, value)
        if repairs is not None:
            repairs.apply(obj, 0 if same else first)
        text = json.dumps({**obj, "apiVersion": resource.api_version, "kind": resource.kind})
        return text.replace(json.dumps(_DEEP), '{"a":' * size + str(first) + "}" * size).encode()

    def _value(self, size: int, first: int, *, same: bool) -> Any:
        if self.is_depth:
            return _DEEP
        if isinstance(self.type, Scalar):
            return "a" * size * 20 + str(first)
        if isinstance(self.type, Map):
            return {f"k{first + at}": sample(self.type.element, 0 if same else first + at) for at in range(size)}
        assert isinstance(self.type, List)
        return [sample(self.type.element, first if same else first + at) for at in range(size)]


def sample_at(kind: Type, path: Path, number: int) -> Any:
    """A small value of the type that a path has; None if there is no such path."""
    for step in path:
        if isinstance(kind, (List, Map)) and step is None:
            kind = kind.element
        elif isinstance(kind, Struct) and step in kind.fields:
            kind = kind.fields[step].type
        else:
            return None
    return sample(kind, number, path[-1] or "") if path else None


def places(resource: Resource, known: set[object]) -> Iterator[Place]:
    """All places in the objects of a resource, less those of structs that are in `known` already."""
    yield from _places(resource, resource.struct, (), known)


def _places(resource: Resource, kind: Type, steps: tuple[Step, ...], known: set[object]) -> Iterator[Place]:
    if isinstance(kind, Untyped):
        yield Place(resource, steps, kind, is_depth=True)
    elif isinstance(kind, (List, Map)):
        yield Place(resource, steps, kind)
        yield from _places(resource, kind.element, (*steps, None), known)
    elif isinstance(kind, Scalar):
        if kind.name == "string" and len(steps) > 1:
            yield Place(resource, steps, kind)
    elif isinstance(kind, Struct) and len(steps) < 12:
        for name, field in kind.fields.items():
            key = (kind.key if isinstance(kind, GoStruct) else id(kind), name)
            if key not in known and not (not steps and name in ("kind", "apiVersion")):
                known.add(key)
                yield from _places(resource, field.type, (*steps, name), known)


def _placed(found: Any, kind: Type, steps: tuple[Step, ...], value: Any) -> Any:
    """A value with another one in its place deep inside, and what is needed on the way there."""
    if not steps:
        return value
    step, *rest = steps
    if isinstance(kind, List):
        items = found if isinstance(found, list) and found else [sample(kind.element, 0)]
        return [_placed(items[0], kind.element, tuple(rest), value), *items[1:]]
    if isinstance(kind, Map):
        entries = found if isinstance(found, dict) and found else {"k0": sample(kind.element, 0)}
        return {key: _placed(each, kind.element, tuple(rest), value) for key, each in entries.items()}
    assert isinstance(kind, Struct)
    assert step is not None
    members = found if isinstance(found, dict) else sample(kind, 0)
    member = kind.fields[step]
    return {**members, step: _placed(members.get(step), member.type, tuple(rest), value)}


_TEXTS: Final = {
    "byte": base64.b64encode(b"a").decode(),
    "date-time": "2026-01-01T00:00:00Z",
    "micro-time": "2026-01-01T00:00:00.000000Z",
    "quantity": "1",
    "duration": "1s",
}
# Values that let a check go on to the next one.
_KNOWN: Final = {
    "operator": "In",
    "effect": "NoSchedule",
    "protocol": "TCP",
    "operation": "Update",
    "fieldsType": "FieldsV1",
    "topologyKey": "a.b/c",
    "status": "True",
    "apiVersion": "v1",
    "mountPropagation": "None",
    "pathType": "Prefix",
    "resource": "limits.cpu",
}


def sample(kind: Type, number: int, member: str = "") -> Any:
    """A small value of a type; other numbers give other values."""
    if isinstance(kind, Scalar):
        if kind.name == "boolean":
            return False
        if kind.name in ("integer", "number"):
            return number % 60000 + 1
        if kind.name == "int-or-string":
            return number % 60000 + 1
        if member in ("mountPath", "path", "devicePath"):
            return f"/n{number}"
        if member in ("ip", "hostIP", "podIP"):
            return f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
        return _TEXTS.get(kind.format) or _KNOWN.get(member) or f"n{number}"
    if isinstance(kind, List):
        return [sample(kind.element, number)]
    if isinstance(kind, Map):
        return {f"k{number}": sample(kind.element, number)}
    if isinstance(kind, Struct):
        return {
            name: sample(field.type, number, name)
            for name, field in kind.fields.items()
            if isinstance(field.type, Scalar) and field.type.name not in ("boolean",)
        }
    return {"f:metadata": {f"f:n{number}": {}}} if getattr(kind, "format", "") == "fields" else {"a": f"n{number}"}
