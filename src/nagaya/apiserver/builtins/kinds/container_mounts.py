"""How a container gets at its pod's volumes: as directories or as raw devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from nagaya.apiserver.builtins.kinds.volume_paths import validate_descending
from nagaya.apiserver.meta.field_errors import (
    FieldError,
    Path,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from nagaya.apiserver.meta.status import JsonObject

_PROPAGATIONS: Final = ("Bidirectional", "HostToContainer", "None")
_READ_ONLY: Final = ("Disabled", "Enabled", "IfPossible")

Volumes = Mapping[str, JsonObject]


def validate_mounts(container: JsonObject, volumes: Volumes, path: Path) -> Iterator[FieldError]:
    """Volumes that are mounted as directories."""
    devices = {each.get("name") or "": each.get("devicePath") or "" for each in container.get("volumeDevices") or ()}
    seen: set[str] = set()
    for position, mount in enumerate(container.get("volumeMounts") or ()):
        where = path.index(position)
        name, directory = mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            yield required(where.child("name"))
        if name not in volumes:
            yield not_found(where.child("name"), name)
        if not directory:
            yield required(where.child("mountPath"))
        if directory in seen:
            yield invalid(where.child("mountPath"), directory, "must be unique")
        seen.add(directory)
        if name in devices:
            yield invalid(where.child("name"), name, "must not already exist in volumeDevices")
        if directory in devices.values():
            detail = "must not already exist as a path in volumeDevices"
            yield invalid(where.child("mountPath"), directory, detail)
        yield from _validate_part(mount, path, where)
        yield from _validate_propagation(mount, container, path.child("mountPropagation"))
        yield from _validate_read_only(mount, path.child("recursiveReadOnly"))


def _validate_part(mount: JsonObject, path: Path, where: Path) -> Iterator[FieldError]:
    part, expression = mount.get("subPath") or "", mount.get("subPathExpr") or ""
    if part:
        yield from validate_descending(part, path.child("subPath"))
    if expression:
        if part:
            detail = "subPathExpr and subPath are mutually exclusive"
            yield invalid(where.child("subPathExpr"), expression, detail)
        yield from validate_descending(expression, path.child("subPathExpr"))


def _validate_propagation(mount: JsonObject, container: JsonObject, path: Path) -> Iterator[FieldError]:
    mode = mount.get("mountPropagation")
    if mode is None:
        return
    if mode not in _PROPAGATIONS:
        yield not_supported(path, mode, _PROPAGATIONS)
    if mode == "Bidirectional" and not (container.get("securityContext") or {}).get("privileged"):
        yield forbidden(path, "Bidirectional mount propagation is available only to privileged containers")


def _validate_read_only(mount: JsonObject, path: Path) -> Iterator[FieldError]:
    mode = mount.get("recursiveReadOnly")
    if mode is None or mode == "Disabled":
        return
    if mode not in _READ_ONLY:
        yield not_supported(path, mode, _READ_ONLY)
        return
    if not mount.get("readOnly"):
        yield forbidden(path, "may only be specified when readOnly is true")
    if mount.get("mountPropagation") not in (None, "None"):
        yield forbidden(path, "may only be specified when mountPropagation is None or not specified")


def validate_devices(container: JsonObject, volumes: Volumes, path: Path) -> Iterator[FieldError]:
    """Volumes that are given as raw devices."""
    mounts = {each.get("name") or "": each.get("mountPath") or "" for each in container.get("volumeMounts") or ()}
    seen_names: set[str] = set()
    seen: set[str] = set()
    for position, device in enumerate(container.get("volumeDevices") or ()):
        where = path.index(position)
        name, file = device.get("name") or "", device.get("devicePath") or ""
        if not name:
            yield required(where.child("name"))
        if name in seen_names:
            yield invalid(where.child("name"), name, "must be unique")
        if (volume := volumes.get(name)) is None:
            yield not_found(where.child("name"), name)
        elif "persistentVolumeClaim" not in volume and "ephemeral" not in volume:
            detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            yield invalid(where.child("name"), name, detail)
        if not file:
            yield required(where.child("devicePath"))
        if file in seen:
            yield invalid(where.child("devicePath"), file, "must be unique")
        if ".." in file.split("/"):
            yield invalid(where.child("devicePath"), file, "can not contain backsteps ('..')")
        else:
            seen.add(file)
        if name in mounts:
            yield invalid(where.child("name"), name, "must not already exist in volumeMounts")
        if file in mounts.values():
            detail = "must not already exist as a path in volumeMounts"
            yield invalid(where.child("devicePath"), file, detail)
        if name:
            seen_names.add(name)
