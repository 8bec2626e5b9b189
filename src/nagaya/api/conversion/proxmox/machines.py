"""What is where in the two versions of machines.

v1alpha1 has one default device and a list of further ones, each with a pool for each family; v1alpha2 has a list of all
devices, each with a list of pools, and the default one is the first.
"""

from __future__ import annotations

from typing import Any, Final

from nagaya.api.conversion.proxmox.values import Content, chosen, filled, items, mapping
from nagaya.api.proxmox.network import DEFAULT_DEVICE

SAME_FIELDS: Final = (
    "sourceNode",
    "templateID",
    "description",
    "format",
    "full",
    "pool",
    "snapName",
    "storage",
    "target",
    "providerID",
    "virtualMachineID",
    "numSockets",
    "numCores",
    "memoryMiB",
    "vmIDRange",
    "checks",
    "metadataSettings",
    "allowedNodes",
    "tags",
)
DEVICE_FIELDS: Final = ("bridge", "model", "mtu", "vlan", "dnsServers", "linkMtu")
_ROUTE: Final = ("to", "via", "metric", "table")
_POLICY: Final = ("to", "from", "table", "priority")
_BRIDGE: Final = "vmbr0"
_HINTS_OF_IPV6: Final = ("inet6", "v6")


def machine_to_new(spec: Content, *, whole: bool = True) -> dict[str, Any]:
    """The content of a machine, in v1alpha2. One that is whole gets the network that it must have there."""
    result = _same(spec)
    if result.get("full") is False:
        result.pop("format", None)  # v1alpha1 fills it in even where it has no meaning, and v1alpha2 refuses it then
    if mapping(spec.get("network")):
        result["network"] = _network_to_new(mapping(spec["network"]))
    elif whole:
        result["network"] = {"networkDevices": [{**_default_device(), "bridge": _BRIDGE}]}
    return result


def machine_to_old(spec: Content) -> dict[str, Any]:
    """The content of a machine, in v1alpha1."""
    result = _same(spec)
    if mapping(spec.get("network")):
        result["network"] = _network_to_old(mapping(spec["network"]))
    return result


def _same(spec: Content) -> dict[str, Any]:
    result = {
        name: value for name, value in chosen(spec, SAME_FIELDS).items() if value not in ("", 0) or value is False
    }
    selector, disks = mapping(spec.get("templateSelector")), mapping(spec.get("disks"))
    result |= filled(templateSelector=chosen(selector, ("matchTags",)), disks=chosen(disks, ("bootVolume",)))
    return result


def _default_device() -> dict[str, Any]:
    return {"name": DEFAULT_DEVICE, "defaultIPv4": True, "defaultIPv6": True}


def _network_to_new(network: Content) -> dict[str, Any]:
    devices = []
    if network.get("default") is not None:
        devices.append({**_default_device(), **_device_to_new(mapping(network["default"]))})
    devices += [
        {"name": each.get("name", ""), **_device_to_new(each)} for each in items(network.get("additionalDevices"))
    ]
    return {"networkDevices": devices, **filled(vrfs=[_vrf(each) for each in items(network.get("vrfs"))])}


def _device_to_new(device: Content) -> dict[str, Any]:
    pools = [device[name] for name in ("ipv4PoolRef", "ipv6PoolRef") if device.get(name) is not None]
    return {**chosen(device, DEVICE_FIELDS), **filled(ipPoolRef=pools), **_routing(device)}


def _network_to_old(network: Content) -> dict[str, Any]:
    devices = items(network.get("networkDevices"))
    default = [_device_to_old(each) for each in devices if each.get("name", DEFAULT_DEVICE) == DEFAULT_DEVICE]
    further = [
        {"name": each["name"], **_device_to_old(each)}
        for each in devices
        if each.get("name", DEFAULT_DEVICE) != DEFAULT_DEVICE
    ]
    vrfs = [_vrf(each) for each in items(network.get("vrfs"))]
    result: dict[str, Any] = {"default": default[0]} if default else {}
    return {**result, **filled(additionalDevices=further, vrfs=vrfs)}


def _device_to_old(device: Content) -> dict[str, Any]:
    result = {**chosen(device, DEVICE_FIELDS), **_routing(device)}
    for pool in items(device.get("ipPoolRef")):
        hinted = any(hint in str(pool.get("name", "")) for hint in _HINTS_OF_IPV6)
        wanted = ("ipv6PoolRef", "ipv4PoolRef") if hinted else ("ipv4PoolRef", "ipv6PoolRef")
        free = next((name for name in wanted if name not in result), None)
        if free is not None:
            result[free] = pool
    return result


def _vrf(vrf: Content) -> dict[str, Any]:
    return {**chosen(vrf, ("interfaces", "name", "table")), **_routing(vrf)}


def _routing(holder: Content) -> dict[str, Any]:
    return filled(
        routes=[filled(**chosen(each, _ROUTE)) for each in items(holder.get("routes"))],
        routingPolicy=[filled(**chosen(each, _POLICY)) for each in items(holder.get("routingPolicy"))],
    )


def machine_status_to_new(status: Content) -> dict[str, Any]:
    """What is known of a machine, in v1alpha2."""
    same = chosen(status, ("addresses", "bootstrapDataProvided", "network", "proxmoxNode", "taskRef", "retryAfter"))
    addresses = [
        {"net": net, **{name: [given[name]] for name in ("ipv4", "ipv6") if given.get(name)}}
        for net, given in mapping(status.get("ipAddresses")).items()
    ]
    return {
        **same,
        **filled(vmStatus=status.get("vmStatus"), ipAddresses=addresses),
        **common_status_to_new(status),
    }


def machine_status_to_old(status: Content) -> dict[str, Any]:
    """What is known of a machine, in v1alpha1."""
    same = chosen(status, ("addresses", "bootstrapDataProvided", "network", "proxmoxNode", "taskRef", "retryAfter"))
    addresses = {
        each["net"]: {name: each[name][0] for name in ("ipv4", "ipv6") if each.get(name)}
        for each in items(status.get("ipAddresses"))
        if each.get("net")
    }
    return {
        **same,
        **filled(vmStatus=status.get("vmStatus"), ipAddresses=addresses),
        **common_status_to_old(status),
    }


def common_status_to_new(status: Content) -> dict[str, Any]:
    """What the status of clusters and of machines has in common, in v1alpha2."""
    ready = status.get("ready")
    failure = filled(**chosen(status, ("failureReason", "failureMessage")))
    conditions = [
        {
            **chosen(each, ("type", "status", "lastTransitionTime")),
            "reason": each.get("reason") or "NoReasonReported",
            "message": each.get("message") or "",
        }
        for each in items(status.get("conditions"))
    ]
    return filled(
        conditions=conditions,
        initialization=None if ready is None else {"provisioned": ready},
        deprecated={"v1beta1": failure} if failure else None,
    )


def common_status_to_old(status: Content) -> dict[str, Any]:
    """What the status of clusters and of machines has in common, in v1alpha1."""
    provisioned = mapping(status.get("initialization")).get("provisioned")
    failure = chosen(mapping(mapping(status.get("deprecated")).get("v1beta1")), ("failureReason", "failureMessage"))
    conditions = [
        chosen(each, ("type", "status", "lastTransitionTime", "reason", "message"))
        for each in items(status.get("conditions"))
    ]
    ready = {} if provisioned is None else {"ready": provisioned}
    return {**ready, **failure, **filled(conditions=conditions)}
