"""PersistentVolumeClaims: wishes for storage.

What a claim is filled from can be said in two fields, an old one for two kinds and a new one for all. Whoever sets one
finds both set.
"""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.builtins.kinds import core_resources
from nagaya.apiserver.builtins.kinds.core_strategy import CoreStatusStrategy, CoreStrategy
from nagaya.apiserver.meta.field_errors import FieldError
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call

_PENDING: Final = "Pending"
_OLD_SOURCES: Final = (("PersistentVolumeClaim", ""), ("VolumeSnapshot", "snapshot.storage.k8s.io"))


class PersistentVolumeClaimStrategy(CoreStrategy):
    """PersistentVolumeClaim."""

    returns_deleted = True
    reset_fields = ("status",)

    def default(self, obj: JsonObject) -> None:
        """The phase and the mode."""
        spec, status = obj["spec"], obj["status"]
        status.setdefault("phase", _PENDING)
        default_spec(spec)
        core_resources.round_up(status.get("capacity"))
        core_resources.round_up(status.get("allocatedResources"))

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """A new claim is pending."""
        obj["status"] = {"phase": _PENDING}
        _settle_sources(obj["spec"], None)

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """The status changes elsewhere."""
        new["status"] = old["status"]
        _settle_sources(new["spec"], old["spec"])

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Everything that holds for a claim, and on an update that it does not ask for something else."""
        from nagaya.apiserver.builtins.kinds import persistent_volume_claim_validation as validation

        return validation.rules(obj, old) + (validation.changes(obj, old) if old else [])

    def warn_create(self, obj: JsonObject, call: Call) -> list[str]:
        """What is on its way out."""
        from nagaya.apiserver.builtins.kinds import persistent_volume_warnings

        return persistent_volume_warnings.claim_warnings(obj)

    def warn_update(self, new: JsonObject, old: JsonObject, call: Call) -> list[str]:
        """The same."""
        return self.warn_create(new, call)


class PersistentVolumeClaimStatusStrategy(CoreStatusStrategy):
    """`/status` of a claim."""

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """Amounts, and how far a resize has come."""
        from nagaya.apiserver.builtins.kinds import persistent_volume_claim_validation as validation

        return validation.status_errors(new["status"])


def default_spec(spec: JsonObject) -> None:
    """Fill in what the spec of a claim may leave out, also in templates."""
    spec.setdefault("volumeMode", "Filesystem")
    resources = spec.get("resources") or {}
    core_resources.round_up(resources.get("limits"))
    core_resources.round_up(resources.get("requests"))


def _settle_sources(spec: JsonObject, before: JsonObject | None) -> None:
    """Drop what cannot be said in the old field, then let both fields say the same."""
    reference = spec.get("dataSourceRef")
    # Sources in other namespaces are not enabled by default.
    if reference is not None and reference.get("namespace") and (before or {}).get("dataSourceRef") is None:
        reference = spec.pop("dataSourceRef") and None
    known = before is not None and (before.get("dataSource") is not None or before.get("dataSourceRef") is not None)
    source = spec.get("dataSource")
    if not known and reference is None and source is not None and not _fits_old_field(source):
        del spec["dataSource"]
    same_sources(spec)


def _fits_old_field(source: JsonObject) -> bool:
    return (source.get("kind") or "", source.get("apiGroup") or "") in _OLD_SOURCES


def same_sources(spec: JsonObject) -> None:
    """Let both fields for a source say the same, if one of them is set."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        spec["dataSourceRef"] = _reference(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = _reference(reference)


def _reference(source: JsonObject) -> JsonObject:
    reference: JsonObject = {"apiGroup": source.get("apiGroup")}
    return {**reference, "kind": source.get("kind") or "", "name": source.get("name") or ""}
