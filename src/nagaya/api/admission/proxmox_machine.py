"""Admission of ProxmoxMachines: what a VM was made with stays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.api.admission.content import Content, at, items, mapping, put
from nagaya.api.admission.field_error import FieldError, forbidden
from nagaya.api.admission.proxmox_machine_checks import check_machine
from nagaya.api.proxmox.network import DEFAULT_DEVICE

_FAMILIES: Final = ("defaultIPv4", "defaultIPv6")
_FILLED_IN: Final = ("providerID", "virtualMachineID")
_FIXED: Final = ("tags", "failureDomain")


def default(new: Content, _: Content | None) -> Content:
    """net0 is the default device of each family, if no device is."""
    network = mapping(new, "spec", "network")
    return put(new, _with_default_devices(network), "spec", "network") if items(network, "networkDevices") else new


def _with_default_devices(network: Content) -> Content:
    devices = [dict(each) for each in items(network, "networkDevices")]
    first = next((each for each in devices if each.get("name", DEFAULT_DEVICE) == DEFAULT_DEVICE), None)
    for family in _FAMILIES:
        if first is not None and not any(each.get(family) is True for each in devices):
            first[family] = True
    return {**network, "networkDevices": devices}


def validate(new: Content, old: Content | None) -> list[FieldError]:
    """What is wrong with a ProxmoxMachine. One that goes is not judged any more."""
    if at(new, "metadata", "deletionTimestamp") is not None:
        return []
    return [*check_machine(mapping(new, "spec"), "spec"), *(_changes(new, old) if old is not None else ())]


def _changes(new: Content, old: Content) -> Iterator[FieldError]:
    for name in _FILLED_IN:
        before = at(old, "spec", name)
        if before is not None and at(new, "spec", name) != before:
            detail = f"cannot be changed: the VM {before} would be forgotten. Delete the Machine to get another VM"
            yield forbidden(f"spec.{name}", detail)
    for name in _FIXED:
        if at(new, "spec", name) != at(old, "spec", name):
            detail = (
                f"{name} is immutable: the VM was made with it. Make another template, and let the Machine be replaced"
            )
            yield forbidden(f"spec.{name}", detail)
