"""Claims get their volumes, and both go when nobody needs them.

A stand-in for the volume binder, a provisioner for the class `simulated`, and the two controllers that protect what is
in use: a claim stays while a pod uses it, a volume while it is bound. A claim of another class waits for a volume that
names it, as it would where that class's provisioner is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Change
from nagaya.apiserver.storage import Event
from nagaya.simulators.tenant.hands import CLAIMS, STORAGE_CLASSES, VOLUMES, Hands
from nagaya.simulators.tenant.settings import DOMAIN, Timing
from nagaya.simulators.tenant.view import View

CLAIM_PROTECTION: Final = "kubernetes.io/pvc-protection"
VOLUME_PROTECTION: Final = "kubernetes.io/pv-protection"
_PROVISIONED: Final = "pv.kubernetes.io/provisioned-by"


def storage_class() -> JsonObject:
    """The default class of a simulated cluster."""
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    metadata: JsonObject = {"name": "simulated", "annotations": default}
    return {"metadata": metadata, "provisioner": DOMAIN, "volumeBindingMode": "Immediate", "reclaimPolicy": "Delete"}


class VolumeClaims:
    """Binds, provisions and releases. Keys are `namespace/name` of claims and the bare names of volumes."""

    name = "simulated volume claims"
    tables = ("pods", CLAIMS.resource, VOLUMES.resource)

    def __init__(self, backend: Backend, view: View, timing: Timing) -> None:
        self._api = Hands(backend, "kube-controller-manager")
        self._clock = backend.world.clock
        self._view = view
        self._provision = timing.provision
        self._asked: dict[str, float] = {}  # uid of a claim to when its volume was ordered, monotonic

    def start(self) -> Iterator[str]:
        """All claims and volumes."""
        for resource in (CLAIMS, VOLUMES):
            for record in self._api.records(resource):
                yield record.key

    def on_event(self, event: Event) -> Iterator[str]:
        """A claim or a volume changed, or a pod went that used one."""
        if event.table == CLAIMS.resource:
            yield event.key
            last = event.record or event.previous
            if last is not None and (volume := (last.object().get("spec") or {}).get("volumeName")):
                yield volume
        elif event.table == VOLUMES.resource and event.record is not None:
            yield event.key
            claim = (event.record.object().get("spec") or {}).get("claimRef")
            if claim:
                yield f"{claim['namespace']}/{claim['name']}"
        elif event.table == "pods":
            pod = self._view.pod_change(event)
            ended = pod.after is None or pod.after.ended
            if pod.before is not None and pod.before.claims and ended:
                yield from [f"{pod.before.namespace}/{each}" for each in pod.before.claims]

    async def sync(self, key: object) -> float | None:
        """Look after one claim or volume."""
        assert isinstance(key, str)
        namespace, slash, name = key.partition("/")
        if not slash:
            await self._look_after_volume(key)
            return None
        claim = self._api.get(CLAIMS, namespace, name)
        if claim is None:
            return None
        if claim["metadata"].get("deletionTimestamp"):
            self._asked.pop(claim["metadata"]["uid"], None)
            if not self._is_used(key):
                await self._unprotect(CLAIMS, namespace, name, CLAIM_PROTECTION)
            return None
        return await self._bind(claim)

    def _is_used(self, key: str) -> bool:
        namespace, _, name = key.partition("/")
        return any(pod.namespace == namespace and name in pod.claims and not pod.ended for pod in self._view.pods())

    async def _unprotect(self, resource: GroupResource, namespace: str, name: str, finalizer: str) -> None:
        def change(obj: JsonObject) -> JsonObject | None:
            left = [each for each in obj["metadata"].get("finalizers") or () if each != finalizer]
            if len(left) == len(obj["metadata"].get("finalizers") or ()):
                return None
            obj["metadata"]["finalizers"] = left
            return obj

        await self._api.change(resource, namespace, name, change)

    async def _bind(self, claim: JsonObject) -> float | None:
        metadata, spec = claim["metadata"], claim["spec"]
        volume = spec.get("volumeName") or self._reserved(metadata) or f"pvc-{metadata['uid']}"
        if self._api.get(VOLUMES, "", volume) is None:
            if spec.get("volumeName") or not self._is_mine(spec.get("storageClassName") or ""):
                return None
            now = self._clock.monotonic()
            left = self._asked.setdefault(metadata["uid"], now) + self._provision - now
            if left > 0:
                return left
            await self._api.create_missing(VOLUMES, _volume(volume, claim))
        self._asked.pop(metadata["uid"], None)
        await self._join(claim, volume)
        return None

    def _reserved(self, metadata: JsonObject) -> str:
        """A volume that names the claim."""
        for record in self._api.records(VOLUMES):
            reference = (record.object().get("spec") or {}).get("claimRef") or {}
            named = (reference.get("namespace"), reference.get("name")) == (metadata["namespace"], metadata["name"])
            if named and reference.get("uid") in (None, "", metadata["uid"]):  # not an older claim of that name
                return record.key
        return ""

    def _is_mine(self, name: str) -> bool:
        found = self._api.get(STORAGE_CLASSES, "", name) if name else None
        return found is not None and found.get("provisioner") == DOMAIN

    async def _join(self, claim: JsonObject, volume: str) -> None:
        metadata = claim["metadata"]

        def claimed(found: JsonObject) -> JsonObject | None:
            known = found["spec"].get("claimRef") or {}
            if known.get("uid"):
                return None
            found["spec"]["claimRef"] = {**known, **_reference(metadata)}
            return found

        def named(found: JsonObject) -> JsonObject | None:
            if found["spec"].get("volumeName"):
                return None
            found["spec"]["volumeName"] = volume
            return found

        made = await self._api.change(VOLUMES, "", volume, claimed)
        if made is None or made["spec"]["claimRef"]["uid"] != metadata["uid"]:
            return  # somebody else has it
        capacity = made["spec"]["capacity"]

        def bound(found: JsonObject) -> JsonObject | None:
            status = found.setdefault("status", {})
            if status.get("phase") == "Bound":
                return None
            status |= {"phase": "Bound", "accessModes": found["spec"]["accessModes"], "capacity": capacity}
            return found

        await self._api.change(VOLUMES, "", volume, _phase("Bound"), subresource="status")
        await self._api.change(CLAIMS, metadata["namespace"], metadata["name"], named)
        await self._api.change(CLAIMS, metadata["namespace"], metadata["name"], bound, subresource="status")

    async def _look_after_volume(self, name: str) -> None:
        volume = self._api.get(VOLUMES, "", name)
        reference = ((volume or {}).get("spec") or {}).get("claimRef")
        if volume is None:
            return
        if reference is not None and reference.get("uid"):
            claim = self._api.get(CLAIMS, reference["namespace"], reference["name"])
            if claim is not None and claim["metadata"]["uid"] == reference["uid"]:
                return
            await self._api.change(VOLUMES, "", name, _phase("Released"), subresource="status")
            reclaimed = volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete"
            provisioned = (volume["metadata"].get("annotations") or {}).get(_PROVISIONED) == DOMAIN
            if reclaimed and provisioned and not volume["metadata"].get("deletionTimestamp"):
                await self._api.delete(VOLUMES, "", name)
        elif not reference:
            await self._api.change(VOLUMES, "", name, _phase("Available"), subresource="status")
        if (self._api.get(VOLUMES, "", name) or volume)["metadata"].get("deletionTimestamp"):
            await self._unprotect(VOLUMES, "", name, VOLUME_PROTECTION)


def _phase(phase: str) -> Change:
    def change(volume: JsonObject) -> JsonObject | None:
        status = volume.setdefault("status", {})
        if status.get("phase") == phase:
            return None
        status["phase"] = phase
        return volume

    return change


def _reference(metadata: JsonObject) -> JsonObject:
    """How a volume names its claim."""
    named = {field: metadata[field] for field in ("namespace", "name", "uid")}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **named}


def _volume(name: str, claim: JsonObject) -> JsonObject:
    """A new volume for a claim."""
    spec, metadata = claim["spec"], claim["metadata"]
    return {
        "metadata": {"name": name, "annotations": {_PROVISIONED: DOMAIN}},
        "spec": {
            "accessModes": spec["accessModes"],
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "claimRef": _reference(metadata),
            "csi": {"driver": DOMAIN, "volumeHandle": name},
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": spec.get("storageClassName") or "",
            "volumeMode": spec.get("volumeMode") or "Filesystem",
        },
    }
