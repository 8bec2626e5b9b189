"""The rules for the status of a claim: what was allocated, for whom, and how the devices are."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from nagaya.apiserver.builtins.kinds import device_checks
from nagaya.apiserver.builtins.kinds.csi_node import driver_name_errors
from nagaya.apiserver.builtins.kinds.device_checks import MOST_CONFIGURATIONS, each, label, pool_name, unique
from nagaya.apiserver.builtins.kinds.resource_claims_rules import (
    RequestNames,
    allocated_requests,
    request_names,
    request_reference,
)
from nagaya.apiserver.meta import addresses, gostring, names
from nagaya.apiserver.meta.field_errors import (
    OMITTED,
    Cause,
    FieldError,
    Path,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    repeated,
    required,
    too_long,
    too_many,
)
from nagaya.apiserver.meta.govalue import struct_json
from nagaya.apiserver.meta.status import JsonObject

DeviceId = tuple[str, str, str, str]
"""A device, or a share of one: driver, pool, device, share."""

_STATUS: Final = Path("status")
_MOST_CONSUMERS: Final = 256
_MOST_RESULTS: Final = 32
_MOST_CONDITIONS: Final = 8
_MOST_ADDRESSES: Final = 16
_LONGEST_INTERFACE: Final = 256
_LONGEST_HARDWARE_ADDRESS: Final = 128
_LONGEST_REASON: Final = 1024
_LONGEST_MESSAGE: Final = 32 * 1024
_SOURCES: Final = ("FromClaim", "FromClass")
_CONDITION_STATUSES: Final = ("False", "True", "Unknown")
_REASON: Final = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_is_reason = re.compile(_REASON).fullmatch
_BAD_REASON: Final = names.mismatch(
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_'",
    _REASON,
    "my_name",
    "MY_NAME",
    "MyName",
    "ReasonA,ReasonB",
    "ReasonA:ReasonB",
)


def device_id(device: JsonObject) -> DeviceId:
    """Which device something is about."""
    return device["driver"], device["pool"], device["device"], device.get("shareID") or ""


def allocated(status: JsonObject) -> set[DeviceId]:
    """The devices that a claim has."""
    allocation = status.get("allocation") or {}
    return {device_id(result) for result in (allocation.get("devices") or {}).get("results") or ()}


def forget_devices(status: JsonObject, old: JsonObject) -> None:
    """Drop the state of devices that the claim had and has no more, in place."""
    devices = status.get("devices")
    if not devices:
        return
    gone = allocated(old) - allocated(status)
    left = [device for device in devices if device_id(device) not in gone]
    if left:
        status["devices"] = left
    else:
        del status["devices"]


def errors(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """What is wrong with a claim's new status."""
    status, before = new["status"], old.get("status") or {}
    consumers, place = status.get("reservedFor") or [], _STATUS.child("reservedFor")
    found = unique(consumers, _MOST_CONSUMERS, _consumer, lambda consumer: consumer["uid"], place)
    has = allocated(status)
    devices, where = status.get("devices") or [], _STATUS.child("devices")
    found += each(devices, None, lambda device, at: _device(device, at, has), where)
    found += _repeated(devices, where)
    allocation = status.get("allocation")
    if consumers and allocation is None:
        found.append(forbidden(place, "may not be specified when `allocated` is not set"))
    elif consumers and new["metadata"].get("deletionTimestamp"):
        known = before.get("reservedFor") or []
        if any(consumer not in known for consumer in consumers):
            detail = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
            found.append(forbidden(place, detail))
    if allocation is None:
        return found
    if before.get("allocation") is None:
        return found + _allocation(allocation, _STATUS.child("allocation"), request_names(new["spec"]))
    if allocation != before["allocation"]:
        from nagaya.apiserver.builtins.kinds import resource_claims_shape

        found += resource_claims_shape.allocation_changed(allocation)
    return found


def _consumer(consumer: JsonObject, where: Path) -> list[FieldError]:
    return [required(where.child(member)) for member in ("resource", "name", "uid") if not consumer[member]]


def _repeated(devices: list[JsonObject], where: Path) -> list[FieldError]:
    ids = [device_id(device) for device in devices]
    return [
        FieldError(Cause.DUPLICATE, str(where.index(position)), OMITTED, _shown(found))
        for position, found in repeated(ids)
    ]


def _shown(found: DeviceId) -> str:
    return struct_json(dict(zip(("Driver", "Pool", "Device", "ShareID"), found, strict=True)))


def _allocation(allocation: JsonObject, where: Path, known: RequestNames) -> list[FieldError]:
    devices, place = allocation.get("devices") or {}, where.child("devices")
    found = each(
        devices.get("results") or (),
        _MOST_RESULTS,
        lambda result, at: _result(result, at, known),
        place.child("results"),
    )
    found += each(
        devices.get("config") or (),
        2 * MOST_CONFIGURATIONS,
        lambda config, at: _config(config, at, known),
        place.child("config"),
    )
    if (selector := allocation.get("nodeSelector")) is not None:
        from nagaya.apiserver.builtins.kinds.persistent_volume_validation import node_selector_errors

        found += node_selector_errors(selector, where.child("nodeSelector"), invalid_values_allowed=False)
    return found


def _result(result: JsonObject, where: Path, known: RequestNames) -> list[FieldError]:
    found = request_reference(result["request"], where.child("request"), known)
    found += _names(result, where)
    found += device_checks.binding_conditions(result, where)
    if (share := result.get("shareID")) is not None:
        found += device_checks.uid(share, where.child("shareID"))
    return found


def _names(device: JsonObject, where: Path) -> list[FieldError]:
    return [
        *driver_name_errors(device["driver"], where.child("driver")),
        *pool_name(device["pool"], where.child("pool")),
        *label(device["device"], where.child("device")),
    ]


def _config(config: JsonObject, where: Path, known: RequestNames) -> list[FieldError]:
    source, place = config["source"], where.child("source")
    found: list[FieldError] = []
    if not source:
        found.append(required(place))
    elif source not in _SOURCES:
        found.append(not_supported(place, source, _SOURCES))
    return found + allocated_requests(config, where, known) + device_checks.configuration(config, where)


def _device(device: JsonObject, where: Path, has: Collection[DeviceId]) -> list[FieldError]:
    found = _names(device, where)
    if (share := device.get("shareID")) is not None:
        found += device_checks.uid(share, where.child("shareID"))
    if (mine := device_id(device)) not in has:
        detail = f"{_shown(mine)}: must be an allocated device in the claim"
        found.append(FieldError(Cause.INVALID, str(where), OMITTED, detail))
    conditions = device.get("conditions") or []
    if len(conditions) > _MOST_CONDITIONS:
        found.append(too_many(where.child("conditions"), len(conditions), _MOST_CONDITIONS))
    found += condition_errors(conditions, where.child("conditions"))
    if device.get("data") is not None:
        found += device_checks.raw_object(device["data"], where.child("data"))
    if (network := device.get("networkData")) is not None:
        found += _network(network, where.child("networkData"))
    return found


def _network(network: JsonObject, where: Path) -> list[FieldError]:
    found = [
        too_long(where.child(member), longest)
        for member, longest in (("interfaceName", _LONGEST_INTERFACE), ("hardwareAddress", _LONGEST_HARDWARE_ADDRESS))
        if names.size(network.get(member) or "") > longest
    ]
    listed = network.get("ips") or []
    return found + unique(listed, _MOST_ADDRESSES, _interface_address, lambda address: address, where.child("ips"))


def _interface_address(text: str, where: Path) -> list[FieldError]:
    parsed = addresses.parse_network(text)
    if parsed is None:
        detail = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
        return [invalid(where, text, detail)]
    address, network = parsed
    right = addresses.canonical(address)
    length = network.prefixlen - 96 if "." in right and network.prefixlen > 32 else network.prefixlen
    if text == f"{right}/{length}":
        return []
    return [invalid(where, text, f"must be in canonical form ({gostring.quote(f'{right}/{length}')})")]


def condition_errors(conditions: list[JsonObject], where: Path) -> list[FieldError]:
    """What is wrong with conditions of the usual kind."""
    found: list[FieldError] = []
    seen: set[str] = set()
    for position, condition in enumerate(conditions):
        place = where.index(position)
        kind = condition.get("type") or ""
        if kind in seen:
            found.append(duplicate(place.child("type"), kind))
        seen.add(kind)
        found += _condition(condition, place)
    return found


def _condition(condition: JsonObject, where: Path) -> list[FieldError]:
    found = device_checks.label_name(condition.get("type") or "", where.child("type"))
    status, reason = condition.get("status") or "", condition.get("reason") or ""
    if status not in _CONDITION_STATUSES:
        found.append(not_supported(where.child("status"), status, _CONDITION_STATUSES))
    generation = condition.get("observedGeneration") or 0
    if generation < 0:
        found.append(invalid(where.child("observedGeneration"), generation, "must be greater than or equal to zero"))
    if not condition.get("lastTransitionTime"):
        found.append(required(where.child("lastTransitionTime")))
    if not reason:
        found.append(required(where.child("reason")))
    elif not _is_reason(reason):
        found.append(invalid(where.child("reason"), reason, _BAD_REASON))
    if names.size(reason) > _LONGEST_REASON:
        found.append(too_long(where.child("reason"), _LONGEST_REASON))
    if names.size(condition.get("message") or "") > _LONGEST_MESSAGE:
        found.append(too_long(where.child("message"), _LONGEST_MESSAGE))
    return found
