"""Claims get volumes: both say so of each other, and a volume without its claim is released.

Binding takes four writes (the volume's reference, its phase, the claim's reference, its phase), in this order; a crash
between any two is made good by the next look at either. A volume that was bound once is never given to another claim:
its data is not ours to hand out. Nothing is provisioned here; a claim that finds no volume waits for one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.controllers import volume_matching
from nagaya.apiserver.controllers.storage_protection import CLAIMS, VOLUMES
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.storage import Event

_CLAIMS: Final = "persistentvolumeclaims"
_VOLUMES: Final = "persistentvolumes"
_STORAGE_CLASSES: Final = GroupResource("storage.k8s.io", "storageclasses")
_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
_SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"

Place = tuple[str, str]
"""A table and a key in it."""


class VolumeBinding:
    """Binds claims and volumes."""

    name = "volume binding"
    tables = (_VOLUMES, _CLAIMS)

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._api = Internal(backend, "kube-controller-manager")

    def start(self) -> Iterator[Place]:
        """All volumes and all claims."""
        for table in (_VOLUMES, _CLAIMS):
            for record in self._backend.store.list(table).records:
                yield table, record.key

    def on_event(self, event: Event) -> Iterator[Place]:
        """A claim or a volume came, changed or went; each may be what the other waits for."""
        if event.table not in (_VOLUMES, _CLAIMS):
            return
        yield event.table, event.key
        record = event.record or event.previous
        if record is None:
            return
        obj = record.object()
        if event.table == _CLAIMS:
            if name := obj["spec"].get("volumeName"):
                yield _VOLUMES, name
            return
        if reference := obj["spec"].get("claimRef"):
            yield _CLAIMS, f"{reference.get('namespace') or ''}/{reference.get('name') or ''}"
        elif (obj.get("status") or {}).get("phase") == "Available":
            for claim in self._backend.store.list(_CLAIMS).records:
                if (claim.object().get("status") or {}).get("phase") == "Pending":
                    yield _CLAIMS, claim.key

    async def sync(self, key: object) -> float | None:
        """Look at one claim or one volume."""
        assert isinstance(key, tuple)
        table, place = key
        record = self._backend.store.get(table, place)
        if record is None:
            return None
        if table == _CLAIMS:
            await self._claim(record.object())
        else:
            await self._volume(record.object())
        return None

    async def _volume(self, volume: JsonObject) -> None:
        phase = self._phase_of(volume)
        if phase and phase != (volume.get("status") or {}).get("phase"):
            await self._set_phase(volume, phase)

    def _phase_of(self, volume: JsonObject) -> str:
        """The phase that a volume should be in; nothing if it is the claim's turn to say."""
        reference = volume["spec"].get("claimRef")
        if reference is None or not reference.get("uid"):
            return "Available"
        claim = self._api.get(CLAIMS, reference.get("namespace") or "", reference.get("name") or "")
        if claim is None or claim["metadata"]["uid"] != reference["uid"]:
            return "" if (volume.get("status") or {}).get("phase") == "Failed" else "Released"
        return "Bound" if claim["spec"].get("volumeName") == volume["metadata"]["name"] else ""

    async def _claim(self, claim: JsonObject) -> None:
        completed = _COMPLETED in (claim["metadata"].get("annotations") or {})
        volume = self._named(claim) if claim["spec"].get("volumeName") or completed else self._found(claim)
        if volume is not None and (completed or not volume_matching.unfit(volume, claim)):
            await self._bind(volume, claim)
        elif completed and (claim.get("status") or {}).get("phase") != "Lost":
            await self._set_claim_status(claim, {"phase": "Lost"})

    def _named(self, claim: JsonObject) -> JsonObject | None:
        """The volume that a claim names, if it is or can be the claim's."""
        volume = self._api.get(VOLUMES, "", claim["spec"].get("volumeName") or "")
        if volume is None:
            return None
        free = volume["spec"].get("claimRef") is None
        return volume if free or volume_matching.refers_to(volume, claim) else None

    def _found(self, claim: JsonObject) -> JsonObject | None:
        """The best volume for a claim, unless it is to wait for its first pod."""
        storage_class = volume_matching.storage_class(claim)
        known = self._api.get(_STORAGE_CLASSES, "", storage_class) if storage_class else None
        delayed = known is not None and known.get("volumeBindingMode") == "WaitForFirstConsumer"
        volumes = (record.object() for record in self._backend.store.list(_VOLUMES).records)
        if delayed and _SELECTED_NODE not in (claim["metadata"].get("annotations") or {}):
            volumes = (each for each in volumes if volume_matching.refers_to(each, claim))
        return volume_matching.best(claim, volumes)

    async def _bind(self, volume: JsonObject, claim: JsonObject) -> None:
        name, metadata = volume["metadata"]["name"], claim["metadata"]
        changed = await self._api.change(VOLUMES, "", name, lambda obj: _referring(obj, claim))
        if changed is None or not volume_matching.refers_to(changed, claim):
            return  # somebody was faster; the event of that brings us back
        await self._set_phase(changed, "Bound")
        namespace, key = metadata["namespace"], metadata["name"]
        bound = await self._api.change(CLAIMS, namespace, key, lambda obj: _completed(obj, claim, name))
        if bound is not None and bound["spec"].get("volumeName") == name:
            await self._set_claim_status(bound, _bound_status(changed))

    async def _set_phase(self, volume: JsonObject, phase: str) -> None:
        def changed(obj: JsonObject) -> JsonObject | None:
            status = obj.get("status") or {}
            if obj["metadata"]["uid"] != volume["metadata"]["uid"] or status.get("phase") == phase:
                return None
            return {**obj, "status": {**status, "phase": phase}}

        await self._api.change(VOLUMES, "", volume["metadata"]["name"], changed, subresource="status")

    async def _set_claim_status(self, claim: JsonObject, wanted: JsonObject) -> None:
        def changed(obj: JsonObject) -> JsonObject | None:
            status = obj.get("status") or {}
            # Who resizes or modifies a bound volume reports it here; that is not ours to undo.
            missing = {} if status.get("phase") == wanted["phase"] else wanted
            if obj["metadata"]["uid"] != claim["metadata"]["uid"] or not missing:
                return None
            return {**obj, "status": {**status, **missing}}

        metadata = claim["metadata"]
        await self._api.change(CLAIMS, metadata["namespace"], metadata["name"], changed, subresource="status")


def _referring(volume: JsonObject, claim: JsonObject) -> JsonObject | None:
    """The volume with a full reference to the claim."""
    spec, metadata = volume["spec"], volume["metadata"]
    reference = spec.get("claimRef")
    if reference is not None and (not volume_matching.refers_to(volume, claim) or reference.get("uid")):
        return None
    about = claim["metadata"]
    full = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": about["namespace"],
        "name": about["name"],
        "uid": about["uid"],
        "resourceVersion": about["resourceVersion"],
    }
    if reference is None:
        metadata = _annotated(metadata, _BY_CONTROLLER)
    return {**volume, "metadata": metadata, "spec": {**spec, "claimRef": full}}


def _completed(claim: JsonObject, seen: JsonObject, volume: str) -> JsonObject | None:
    """The claim with its volume."""
    if claim["metadata"]["uid"] != seen["metadata"]["uid"]:
        return None
    metadata, spec = claim["metadata"], claim["spec"]
    if not spec.get("volumeName"):
        metadata = _annotated(metadata, _BY_CONTROLLER)
    return {**claim, "metadata": _annotated(metadata, _COMPLETED), "spec": {"volumeName": volume, **spec}}


def _annotated(metadata: JsonObject, annotation: str) -> JsonObject:
    return {**metadata, "annotations": {**(metadata.get("annotations") or {}), annotation: "yes"}}


def _bound_status(volume: JsonObject) -> JsonObject:
    """What a claim has when it is bound."""
    spec = volume["spec"]
    status = {"phase": "Bound", "accessModes": spec.get("accessModes"), "capacity": spec.get("capacity")}
    if name := spec.get("volumeAttributesClassName"):
        status["currentVolumeAttributesClassName"] = name
    return status
