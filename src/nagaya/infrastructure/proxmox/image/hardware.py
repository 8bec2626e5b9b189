"""The options of a machine that becomes a template: ready for cloud-init, with nothing that ties it to a host."""

from __future__ import annotations

from nagaya.infrastructure.proxmox.client import property_string
from nagaya.infrastructure.proxmox.client.calls import Value
from nagaya.infrastructure.proxmox.client.property_string import PropertyString
from nagaya.infrastructure.proxmox.image.image import Image
from nagaya.infrastructure.proxmox.image.marker import Marker, described
from nagaya.infrastructure.proxmox.image.steps import Create
from nagaya.infrastructure.proxmox.image.wanted import Hardware


def options(step: Create, image: Image, hardware: Hardware, marker: Marker) -> dict[str, Value]:
    """For POST /nodes/{node}/qemu. There are no tags among them: rights on a pool do not reach far enough for tags of a
    machine that is not in the pool yet."""
    disk = PropertyString(f"{step.storage}:0", {"import-from": step.source, "discard": "on", "iothread": "1"})
    return {
        "name": image.name,
        "description": described(image, marker),
        "ostype": "l26",
        "cpu": property_string.of(hardware.cpu).written("cpu"),
        "cores": hardware.cores,
        "memory": hardware.memory,
        "scsihw": "virtio-scsi-single",
        "scsi0": disk.written("scsi0"),
        "boot": "order=scsi0",
        "agent": "enabled=1",
        "serial0": "socket",
        "net0": property_string.of("virtio", bridge=hardware.bridge).written("net0"),
    }
