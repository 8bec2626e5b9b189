"""The storage group."""

from __future__ import annotations

from datetime import datetime

from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.table.builtin.parts import NONE, UNSET, age, metadata, name, spec, status
from nagaya.apiserver.table.columns import AGE, NAME, Cells, Column, flag, number, shape, text


@shape(
    NAME,
    text("Provisioner", "Who makes the volumes."),
    text("ReclaimPolicy", "What happens to a volume when its claim is gone."),
    text("VolumeBindingMode", "When a claim gets its volume."),
    text("AllowVolumeExpansion", "Whether volumes can grow."),
    AGE,
)
def STORAGE_CLASSES(obj: JsonObject, now: datetime) -> Cells:
    annotations: dict[str, str] = metadata(obj).get("annotations") or {}
    default = any(
        annotations.get(f"storageclass.{infix}kubernetes.io/is-default-class") == "true" for infix in ("", "beta.")
    )
    reclaim, binding = obj.get("reclaimPolicy"), obj.get("volumeBindingMode")
    return [
        name(obj) + (" (default)" if default else ""),
        obj.get("provisioner") or "",
        "Delete" if reclaim is None else reclaim,
        "Immediate" if binding is None else binding,
        bool(obj.get("allowVolumeExpansion")),
        age(obj, now),
    ]


@shape(NAME, text("DriverName", "The driver that these attributes are for."), AGE)
def VOLUME_ATTRIBUTES_CLASSES(obj: JsonObject, now: datetime) -> Cells:
    return [name(obj), obj.get("driverName") or "", age(obj, now)]


@shape(
    NAME,
    Column("Attacher", "The driver that attaches.", format="name"),
    text("PV", "The volume to attach."),
    text("Node", "The node to attach it to."),
    flag("Attached", "Whether that is done."),
    AGE,
)
def VOLUME_ATTACHMENTS(obj: JsonObject, now: datetime) -> Cells:
    wanted = spec(obj)
    return [
        name(obj),
        wanted.get("attacher") or "",
        (wanted.get("source") or {}).get("persistentVolumeName") or "",
        wanted.get("nodeName") or "",
        bool(status(obj).get("attached")),
        age(obj, now),
    ]


@shape(NAME, number("Drivers", "The number of drivers on the node."), AGE)
def CSI_NODES(obj: JsonObject, now: datetime) -> Cells:
    return [name(obj), len(spec(obj).get("drivers") or ()), age(obj, now)]


@shape(
    NAME,
    flag("AttachRequired", "Whether volumes have to be attached first."),
    flag("PodInfoOnMount", "Whether the driver is told about the pod."),
    flag("StorageCapacity", "Whether the scheduler looks at capacities."),
    text("TokenRequests", "Whom service account tokens are made for."),
    flag("RequiresRepublish", "Whether volumes are published again and again."),
    text("Modes", "The life cycles of volumes that are supported."),
    AGE,
)
def CSI_DRIVERS(obj: JsonObject, now: datetime) -> Cells:
    wanted = spec(obj)
    attach = wanted.get("attachRequired")
    tokens: list[JsonObject] | None = wanted.get("tokenRequests")
    return [
        name(obj),
        True if attach is None else attach,
        bool(wanted.get("podInfoOnMount")),
        bool(wanted.get("storageCapacity")),
        UNSET if tokens is None else ",".join(each.get("audience") or "" for each in tokens),
        bool(wanted.get("requiresRepublish")),
        ",".join(wanted.get("volumeLifecycleModes") or ()) or NONE,
        age(obj, now),
    ]
