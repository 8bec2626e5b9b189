"""Volumes and claims to them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.table.builtin.parts import UNSET, age, amount, deleting, metadata, name, spec, status
from nagaya.apiserver.table.columns import AGE, NAME, Cells, shape, text, wide

_MODES: Final = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_CLASS: Final = (
    text("StorageClass", "The storage class."),
    text("VolumeAttributesClass", "The class of changeable attributes."),
)
_MODE: Final = wide("VolumeMode", "A file system or a raw device.")


@shape(
    NAME,
    text("Capacity", "The size."),
    text("Access Modes", "How many nodes and pods may use it, and for what."),
    text("Reclaim Policy", "What happens when the claim is gone."),
    text("Status", "Whether the volume is bound."),
    text("Claim", "The claim that the volume is bound to."),
    *_CLASS,
    text("Reason", "Why the volume is in this state."),
    AGE,
    _MODE,
)
def PERSISTENT_VOLUMES(obj: JsonObject, now: datetime) -> Cells:
    wanted, observed = spec(obj), status(obj)
    claim: JsonObject | None = wanted.get("claimRef")
    return [
        name(obj),
        amount((wanted.get("capacity") or {}).get("storage")),
        _modes(wanted.get("accessModes") or ()),
        wanted.get("persistentVolumeReclaimPolicy") or "",
        _phase(obj),
        "" if claim is None else f"{claim.get('namespace') or ''}/{claim.get('name') or ''}",
        _storage_class(obj),
        _or_unset(wanted.get("volumeAttributesClassName")),
        observed.get("reason") or "",
        age(obj, now),
        _or_unset(wanted.get("volumeMode")),
    ]


@shape(
    NAME,
    text("Status", "Whether the claim is bound."),
    text("Volume", "The volume that the claim is bound to."),
    text("Capacity", "The size of the volume."),
    text("Access Modes", "How many nodes and pods may use it, and for what."),
    *_CLASS,
    AGE,
    _MODE,
)
def PERSISTENT_VOLUME_CLAIMS(obj: JsonObject, now: datetime) -> Cells:
    wanted, observed = spec(obj), status(obj)
    volume = wanted.get("volumeName") or ""
    return [
        name(obj),
        _phase(obj),
        volume,
        amount((observed.get("capacity") or {}).get("storage")) if volume else "",
        _modes(observed.get("accessModes") or ()) if volume else "",
        _storage_class(obj),
        _or_unset(wanted.get("volumeAttributesClassName")),
        age(obj, now),
        _or_unset(wanted.get("volumeMode")),
    ]


def _phase(obj: JsonObject) -> str:
    return "Terminating" if deleting(obj) else status(obj).get("phase") or ""


def _modes(modes: Iterable[str]) -> str:
    given = set(modes)
    return ",".join(short for mode, short in _MODES.items() if mode in given)


def _storage_class(obj: JsonObject) -> str:
    annotations: dict[str, str] = metadata(obj).get("annotations") or {}
    found = annotations.get("volume.beta.kubernetes.io/storage-class")
    return found if found is not None else spec(obj).get("storageClassName") or ""


def _or_unset(value: str | None) -> str:
    return UNSET if value is None else value
