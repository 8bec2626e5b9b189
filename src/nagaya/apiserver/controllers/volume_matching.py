"""Which volume a claim gets: the smallest free one that is all the claim asks for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from nagaya.apiserver.meta import quantity
from nagaya.apiserver.meta.quantity import Quantity
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.selectors import label_selector

_OLD_CLASS: Final = "volume.beta.kubernetes.io/storage-class"


def storage_class(obj: JsonObject) -> str:
    """The storage class of a claim or a volume, or nothing."""
    annotations = obj["metadata"].get("annotations") or {}
    return annotations.get(_OLD_CLASS) or obj["spec"].get("storageClassName") or ""


def refers_to(volume: JsonObject, claim: JsonObject) -> bool:
    """Whether a volume is this claim's, or is kept for one of its name."""
    reference, metadata = volume["spec"].get("claimRef"), claim["metadata"]
    if reference is None:
        return False
    same_name = (reference.get("namespace"), reference.get("name")) == (metadata["namespace"], metadata["name"])
    return same_name and reference.get("uid") in (None, "", metadata["uid"])


def best(claim: JsonObject, volumes: Iterable[JsonObject]) -> JsonObject | None:
    """The volume for a claim: one that is kept for it, else the smallest that fits; None if there is none."""
    fitting = []
    for volume in volumes:
        if unfit(volume, claim):
            continue
        if refers_to(volume, claim):
            return volume
        if volume["spec"].get("claimRef") is None and (volume.get("status") or {}).get("phase") == "Available":
            fitting.append(volume)
    return min(fitting, key=lambda each: (_capacity(each), each["metadata"]["name"]), default=None)


def unfit(volume: JsonObject, claim: JsonObject) -> str:
    """Why a volume is not what a claim asks for; nothing if it is."""
    has, asks = volume["spec"], claim["spec"]
    if "deletionTimestamp" in volume["metadata"]:
        return "the volume is being deleted"
    if _capacity(volume) < _asked(claim):
        return "requested PV is too small"
    if storage_class(volume) != storage_class(claim):
        return "storageClassName does not match"
    if (has.get("volumeMode") or "Filesystem") != (asks.get("volumeMode") or "Filesystem"):
        return "incompatible volumeMode"
    if not set(asks.get("accessModes") or ()) <= set(has.get("accessModes") or ()):
        return "incompatible accessMode"
    if (has.get("volumeAttributesClassName") or "") != (asks.get("volumeAttributesClassName") or ""):
        return "volumeAttributesClassName does not match"
    selector: Any = asks.get("selector")
    if selector is not None and not _selects(selector, volume):
        return "the volume's labels do not match the selector"
    return ""


def _selects(selector: JsonObject, volume: JsonObject) -> bool:
    return label_selector.compiled(selector).matches(volume["metadata"].get("labels") or {})


def _capacity(volume: JsonObject) -> Quantity:
    return quantity.parse((volume["spec"].get("capacity") or {}).get("storage") or "0")


def _asked(claim: JsonObject) -> Quantity:
    requests = (claim["spec"].get("resources") or {}).get("requests") or {}
    return quantity.parse(requests.get("storage") or "0")
