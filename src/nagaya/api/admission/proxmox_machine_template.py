"""Admission of ProxmoxMachineTemplates. They never change: whoever wants other machines refers to another one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.api.admission.content import Content, items, mapping, text
from nagaya.api.admission.field_error import FieldError, forbidden
from nagaya.api.admission.metadata_checks import check_metadata
from nagaya.api.admission.proxmox_machine_checks import check_machine
from nagaya.api.admission.proxmox_templates import changed_template, is_judged

_SPEC: Final = ("spec", "template", "spec")
_OF_ONE_VM: Final = ("providerID", "virtualMachineID")


def validate(new: Content, old: Content | None) -> list[FieldError]:
    """What is wrong with a ProxmoxMachineTemplate."""
    if not is_judged(new):
        return []
    remedy = "let the MachineDeployment or control plane refer to it: that rolls the machines"
    return list(_created(new) if old is None else changed_template(new, old, remedy))


def _created(new: Content) -> Iterator[FieldError]:
    spec, field = mapping(new, *_SPEC), ".".join(_SPEC)
    yield from check_machine(spec, field)
    for name in _OF_ONE_VM:
        if spec.get(name) is not None:
            yield forbidden(
                f"{field}.{name}", "is of one VM, and all machines of the template would have it: leave it out"
            )
    for index, device in enumerate(items(spec, "network", "networkDevices")):
        if text(device, "macAddress"):
            detail = "would be that of all machines of the template: set deriveMacAddress to true instead"
            yield forbidden(f"{field}.network.networkDevices[{index}].macAddress", detail)
    yield from check_metadata(mapping(new, "spec", "template", "metadata"), "spec.template.metadata")
