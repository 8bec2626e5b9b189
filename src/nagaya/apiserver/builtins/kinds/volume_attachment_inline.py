"""Volumes that stand in an attachment instead of having an object of their own."""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.builtins.kinds.core_goshape import Shape, invalid_shape, shape
from nagaya.apiserver.builtins.kinds.persistent_volume_shape import AFFINITY, SOURCE
from nagaya.apiserver.builtins.kinds.persistent_volume_sources import SOURCES
from nagaya.apiserver.builtins.kinds.persistent_volume_validation import access_mode_errors
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden, required
from nagaya.apiserver.meta.object_meta import IMMUTABLE
from nagaya.apiserver.meta.status import JsonObject

_INLINE: Final = "in the context of inline volumes"
_NOT_HERE: Final = f"may not be specified {_INLINE}"
_RETAIN: Final = "Retain"
_FILESYSTEM: Final = "Filesystem"
_REFERENCE: Final = (
    "*{Kind=kind:s Namespace=namespace:s Name=name:s UID=uid:s APIVersion=apiVersion:s "
    "ResourceVersion=resourceVersion:s FieldPath=fieldPath:s}"
)


def errors(spec: JsonObject, where: Path) -> list[FieldError]:
    """What is wrong with such a volume: it has to be a CSI one, and much is not allowed."""
    found = [forbidden(where.child(member), _NOT_HERE) for member in ("claimRef", "capacity") if spec.get(member)]
    if spec.get("csi") is None:
        found.append(required(where.child("csi"), f"has to be specified {_INLINE}"))
    found += access_mode_errors(spec, where, "")
    if spec.get("persistentVolumeReclaimPolicy") not in (None, "", _RETAIN):
        place = where.child("persistentVolumeReclaimPolicy")
        found.append(forbidden(place, f"may only be {_RETAIN} {_INLINE}"))
    if spec.get("nodeAffinity") is not None:
        found.append(forbidden(where.child("nodeAffinity"), _NOT_HERE))
    found += _source_errors(spec, where)
    if spec.get("storageClassName"):
        found.append(forbidden(where.child("storageClassName"), _NOT_HERE))
    if spec.get("volumeMode") not in (None, _FILESYSTEM):
        detail = f"may not specify volumeMode other than {_FILESYSTEM} {_INLINE}"
        found.append(forbidden(where.child("volumeMode"), detail))
    return found


def _source_errors(spec: JsonObject, where: Path) -> list[FieldError]:
    found: list[FieldError] = []
    count = 0
    for member, source in SOURCES.items():
        given = spec.get(member)
        if given is None:
            continue
        if count and member != "flexVolume":
            found.append(forbidden(where.child(source.surplus), "may not specify more than 1 volume type"))
            continue
        count += 1
        found += source.check(given, where.child(source.place), "")
        if member == "local":
            found.append(required(where.child("nodeAffinity"), "Local volume requires node affinity"))
    return found if count else [*found, required(where, "must specify a volume type")]


def changes(new: JsonObject) -> list[FieldError]:
    """The message for an attachment whose spec changes, which shows all of it."""
    volume = _joined(
        *shape("Capacity=capacity:p").fields,
        *SOURCE.fields,
        *shape(
            f"AccessModes=accessModes:p ClaimRef=claimRef:{_REFERENCE} "
            "PersistentVolumeReclaimPolicy=persistentVolumeReclaimPolicy:s StorageClassName=storageClassName:s "
            "MountOptions=mountOptions:p VolumeMode=volumeMode:p"
        ).fields,
        ("NodeAffinity", "nodeAffinity", "*{", AFFINITY),
        ("VolumeAttributesClassName", "volumeAttributesClassName", "p", None),
    )
    source = _joined(
        ("PersistentVolumeName", "persistentVolumeName", "p", None),
        ("InlineVolumeSpec", "inlineVolumeSpec", "*{", volume),
    )
    attachment = _joined(
        ("Attacher", "attacher", "s", None),
        ("Source", "source", "{", source),
        ("NodeName", "nodeName", "s", None),
    )
    return [invalid_shape("spec", attachment, new, IMMUTABLE)]


def _joined(*fields: tuple[str, str, str, Shape | None]) -> Shape:
    joined = Shape()
    joined.fields = list(fields)
    return joined
