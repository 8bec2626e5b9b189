"""What a run is about to do and what became of it, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nagaya.infrastructure.proxmox.image.apply import Result
from nagaya.infrastructure.proxmox.image.image import Image
from nagaya.infrastructure.proxmox.image.manifests import selector
from nagaya.infrastructure.proxmox.image.plan import Plan


def plan_lines(image: Image, planned: Plan) -> Iterator[str]:
    """A plan, line by line."""
    yield f"Image {image.name} ({image.shown_url}, {image.checksum.algorithm} {image.checksum.short}...)"
    where = "which all hosts see, so one template is enough" if planned.shared else "on each host"
    yield f"for disks on {planned.storage}, {where}:"
    if planned.enable is not None:
        yield f"  {planned.enable}"
    for download in planned.downloads:
        yield f"  {download.host}: {download}"
    for each in planned.hosts:
        for step in each.steps:
            yield f"  {each.host}: {step}"
        if each.waits:
            yield f"  {each.host} cannot be done now: {each.why}"
        elif not each.steps:
            yield f"  {each.why}"
    for removal in planned.cleanup:
        yield f"  {removal.host}: {removal}"
    for note in planned.notes:
        yield f"Note: {note}"


def plan_shown(image: Image, planned: Plan) -> dict[str, Any]:
    """A plan, for programs."""
    return {
        "image": image_shown(image),
        "storage": planned.storage,
        "shared": planned.shared,
        "enable": None if planned.enable is None else str(planned.enable),
        "downloads": [
            {"host": each.host, "storage": each.storage.name, "file": each.file} for each in planned.downloads
        ],
        "hosts": [
            {
                "host": each.host,
                "vmid": each.vmid,
                "steps": [str(step) for step in each.steps],
                "waits": each.waits,
                "why": each.why,
            }
            for each in planned.hosts
        ],
        "cleanup": [str(step) for step in planned.cleanup],
        "notes": list(planned.notes),
    }


def result_lines(image: Image, result: Result) -> Iterator[str]:
    """What became of it, line by line."""
    for each in result.hosts:
        if each.problem:
            yield f"{each.host}: {each.problem}"
        else:
            yield f"{each.host}: template {each.vmid}{'' if each.changed else ', as before'}"
    for note in result.notes:
        yield f"Note: {note}"


def result_shown(image: Image, result: Result) -> dict[str, Any]:
    """What became of it, for programs."""
    return {
        "image": image_shown(image),
        "complete": result.complete,
        "templateSelector": selector(image.origin, kubernetes=bool(image.kubernetes)),
        "hosts": [
            {"host": each.host, "vmid": each.vmid, "changed": each.changed, "problem": each.problem}
            for each in result.hosts
        ],
        "notes": list(result.notes),
    }


def image_shown(image: Image) -> dict[str, Any]:
    """An image, for programs."""
    return {
        "name": image.name,
        "origin": image.origin,
        "kubernetes": image.kubernetes,
        "url": image.shown_url,
        "checksum": str(image.checksum),
        "format": image.format,
        "tags": list(image.tags),
    }
