"""Admission of ProxmoxVirtualMachines: the name is what makes a VMID unique, so it must be that of the VMID."""

from __future__ import annotations

from nagaya.api.admission.content import Content, number, text
from nagaya.api.admission.field_error import FieldError, invalid
from nagaya.api.proxmox.proxmox_virtual_machine import reservation_name


def validate(new: Content, _: Content | None) -> list[FieldError]:
    """What is wrong with a ProxmoxVirtualMachine."""
    wanted = reservation_name(text(new, "spec", "datacenter"), number(new, "spec", "vmid") or 0)
    name = text(new, "metadata", "name")
    return [] if name == wanted else [invalid("metadata.name", name, f"must be {wanted}: it is what reserves the VMID")]
