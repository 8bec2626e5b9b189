"""Checks of the network of a VM: names without gaps, one default device, no doubt of which family a route is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from nagaya.api.admission.content import Content, items, number, text
from nagaya.api.admission.field_error import FieldError, forbidden, invalid, required
from nagaya.api.proxmox.addresses import STATIC

_SMALLEST_MTU: Final = 1280  # IPv6 needs it
_MTU_OF_BRIDGE: Final = 1
_PLACEHOLDERS: Final = ("default", "all")


def check_network(network: Content, field: str) -> Iterator[FieldError]:
    """What is wrong with the network of a VM."""
    devices = items(network, "networkDevices")
    yield from _check_names(devices, f"{field}.networkDevices")
    for family in ("defaultIPv4", "defaultIPv6"):
        named = [text(each, "name") for each in devices if each.get(family) is True]
        if len(named) > 1:
            told = ", ".join(named)
            detail = f"More than one default IPv4/IPv6 interface in NetworkDevices: set {family} on one of {told}"
            yield invalid(f"{field}.networkDevices", named, detail)
    for index, device in enumerate(devices):
        yield from _check_device(device, f"{field}.networkDevices[{index}]")
    for index, vrf in enumerate(items(network, "vrfs")):
        yield from _check_vrf(vrf, f"{field}.vrfs[{index}]")


def _check_names(devices: Sequence[Content], field: str) -> Iterator[FieldError]:
    numbers = sorted(_place(text(each, "name") or "net0") for each in devices)
    if numbers != list(range(len(numbers))):
        wanted = ", ".join(f"net{each}" for each in range(len(numbers)))
        named = [text(each, "name") for each in devices]
        yield invalid(field, named, f"Non-consecutive proxmox interface name: call the devices {wanted}")


def _place(name: str) -> int:
    digits = name.removeprefix("net")
    return int(digits) if digits.isascii() and digits.isdigit() else -1


def _check_device(device: Content, field: str) -> Iterator[FieldError]:
    mtu, link_mtu = number(device, "mtu"), number(device, "linkMtu")
    if mtu is not None and mtu != _MTU_OF_BRIDGE and mtu < _SMALLEST_MTU:
        yield invalid(f"{field}.mtu", mtu, f"mtu must be at least 1280 or 1, but was {mtu}")
    if link_mtu is not None and link_mtu < _SMALLEST_MTU:
        yield invalid(f"{field}.linkMtu", link_mtu, f"mtu must be at least 1280, but was {link_mtu}")
    if text(device, "macAddress") and device.get("deriveMacAddress") is True:
        yield forbidden(
            f"{field}.macAddress", "is fixed and to be derived at once: leave macAddress or deriveMacAddress out"
        )
    addressing = text(device, "addressing")
    if addressing and addressing != STATIC and items(device, "ipPoolRef"):
        detail = f"has no use with addressing {addressing}: leave it out, or set addressing to {STATIC}"
        yield forbidden(f"{field}.ipPoolRef", detail)
    for index, policy in enumerate(items(device, "routingPolicy")):
        place = f"{field}.routingPolicy[{index}]"
        if number(policy, "table") is None:
            yield required(f"{place}.table", f"routing policy [{index}] requires a table")
        yield from _check_policy(policy, place)
    yield from _check_routes(device, field)


def _check_vrf(vrf: Content, field: str) -> Iterator[FieldError]:
    name, table = text(vrf, "name"), number(vrf, "table")
    for index, policy in enumerate(items(vrf, "routingPolicy")):
        place = f"{field}.routingPolicy[{index}]"
        given = number(policy, "table")
        if given is not None and given != table:
            detail = (
                f"VRF {name}: device/rule routing table mismatch {table} != {given}: leave the table of the rule out"
            )
            yield invalid(f"{place}.table", given, detail)
        yield from _check_policy(policy, place)
    yield from _check_routes(vrf, field)


def _check_routes(holder: Content, field: str) -> Iterator[FieldError]:
    for index, route in enumerate(items(holder, "routes")):
        if _is_placeholder(text(route, "to")) and not _tells_family(text(route, "via")) and route.get("is6") is None:
            detail = "is6 must be set when 'to' is a placeholder and 'via' is unset: true for IPv6, false for IPv4"
            yield required(f"{field}.routes[{index}].is6", detail)


def _check_policy(policy: Content, field: str) -> Iterator[FieldError]:
    ends = text(policy, "to"), text(policy, "from")
    if any(map(_is_placeholder, ends)) and not any(map(_tells_family, ends)) and policy.get("is6") is None:
        detail = (
            "is6 must be set when 'to'/'from' is a placeholder and neither provides an address family: true for IPv6, "
            "false for IPv4"
        )
        yield required(f"{field}.is6", detail)


def _is_placeholder(given: str) -> bool:
    return given in _PLACEHOLDERS


def _tells_family(given: str) -> bool:
    return bool(given) and not _is_placeholder(given)
