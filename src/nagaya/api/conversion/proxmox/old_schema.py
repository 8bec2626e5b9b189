"""What v1alpha1 looks like, made from what v1alpha2 looks like: types, enums and limits of the fields that both have.

Nothing is demanded, filled in or thrown away, and rules between fields are left to admission, which judges what becomes
of the object. So whatever CAPMOX took is taken, and no number is where a text should be.
"""

from __future__ import annotations

from typing import Any, Final

from nagaya.api.conversion.proxmox import clusters, machines
from nagaya.api.crd import Schema, schema
from nagaya.api.definition import Definition

_KEPT: Final = frozenset({"type", "format", "description", "enum", "maximum", "maxLength", "maxItems", "pattern"})
_CONFIGS: Final = ("ipv4Config", "ipv6Config")


def old_schema(definition: Definition) -> Schema:
    """The schema of whole objects of a kind in v1alpha1."""
    found = schema(definition)["properties"]
    kind = definition.kind.kind
    of = _cluster if "Cluster" in kind else _machine
    if kind.endswith("Template"):
        template = found["spec"]["properties"]["template"]["properties"]
        inner = _object({"metadata": _open(), "spec": of(template["spec"]["properties"])})
        spec = _object({"template": inner})
    else:
        spec = of(found["spec"]["properties"])
    head = {name: found[name] for name in ("apiVersion", "kind", "metadata")}
    return {
        "type": "object",
        "description": f"{kind} as CAPMOX had it before.",
        "properties": {**head, "spec": spec, "status": _open()},
    }


def _machine(new: Schema) -> Schema:
    network = new["network"]["properties"]
    device = network["networkDevices"]["items"]["properties"]
    pool = device["ipPoolRef"]["items"]
    shown = {name: device[name] for name in (*machines.DEVICE_FIELDS, "name", "routes", "routingPolicy")}
    old_device = _object(_loose_all({**shown, "ipv4PoolRef": pool, "ipv6PoolRef": pool}))
    old_network = {
        "default": old_device,
        "additionalDevices": {"type": "array", "nullable": True, "items": old_device},
        "vrfs": _loose(network["vrfs"]),
    }
    same = (*machines.SAME_FIELDS, "templateSelector", "disks")
    return _object({**_loose_all({name: new[name] for name in same}), "network": _object(old_network)})


def _cluster(new: Schema) -> Schema:
    same = (*clusters.SAME_FIELDS, *_CONFIGS, "controlPlaneEndpoint", "schedulerHints")
    machine = _machine(new["machineSpec"]["items"]["properties"])
    clone = {
        "machineSpec": {"type": "object", "nullable": True, "additionalProperties": machine},
        **_loose_all({name: new[name] for name in ("sshAuthorizedKeys", "virtualIPNetworkInterface")}),
    }
    return _object({**_loose_all({name: new[name] for name in same}), "cloneSpec": _object(clone)})


def _loose_all(fields: Schema) -> Schema:
    return {name: _loose(each) for name, each in fields.items()}


def _loose(new: Schema) -> Schema:
    """A field that need not be there, and may be there without a value."""
    if new.get("type") == "object":
        return _object(_loose_all(new.get("properties", {})))
    result: dict[str, Any] = {name: value for name, value in new.items() if name in _KEPT}
    if "items" in new:
        result["items"] = _loose(new["items"])
    return {**result, "nullable": True}


def _object(properties: Schema) -> Schema:
    return {**_open(), "nullable": True, "properties": properties}


def _open() -> Schema:
    return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
