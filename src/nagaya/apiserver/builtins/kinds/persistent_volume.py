"""PersistentVolumes: pieces of storage, made by administrators or drivers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from nagaya.apiserver.builtins.kinds import core_resources
from nagaya.apiserver.builtins.kinds.core_strategy import CoreStatusStrategy, CoreStrategy
from nagaya.apiserver.meta.field_errors import FieldError
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call

_PENDING: Final = "Pending"
_TRANSITION: Final = "lastPhaseTransitionTime"
_SOURCE_DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "hostPath": {"type": ""},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "iscsi": {"iscsiInterface": "default"},
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}


class PersistentVolumeStrategy(CoreStrategy):
    """PersistentVolume."""

    namespaced = False
    returns_deleted = True
    reset_fields = ("status",)

    def default(self, obj: JsonObject) -> None:
        """The phase, what becomes of the volume, and the defaults of its source."""
        spec = obj["spec"]
        obj["status"].setdefault("phase", _PENDING)
        spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
        spec.setdefault("volumeMode", "Filesystem")
        core_resources.round_up(spec.get("capacity"))
        for name, defaults in _SOURCE_DEFAULTS.items():
            if (source := spec.get(name)) is not None:
                spec[name] = {**defaults, **source}

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """A new volume is pending, since now."""
        obj["status"] = {"phase": _PENDING, _TRANSITION: call.backend.now()}

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """The status changes elsewhere."""
        new["status"] = old["status"]

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Everything that holds for a volume."""
        from nagaya.apiserver.builtins.kinds import persistent_volume_validation as validation

        return validation.rules(obj, old) + validation.mount_option_errors(obj)

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """Everything that holds for a volume (the real server looks twice), and that its source stays."""
        from nagaya.apiserver.builtins.kinds import persistent_volume_validation as validation

        whole = self.complete(new, found) + validation.rules(new, old)
        return [*whole, *validation.mount_option_errors(new), *whole, *validation.changes(new["spec"], old["spec"])]

    def warn_create(self, obj: JsonObject, call: Call) -> list[str]:
        """What is on its way out, or gone."""
        from nagaya.apiserver.builtins.kinds import persistent_volume_warnings

        return persistent_volume_warnings.warnings(obj)

    def warn_update(self, new: JsonObject, old: JsonObject, call: Call) -> list[str]:
        """The same."""
        return self.warn_create(new, call)


class PersistentVolumeStatusStrategy(CoreStatusStrategy):
    """`/status` of a volume."""

    namespaced = False

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """Keep the spec, and note when the phase changed."""
        super().prepare_update(new, old, call)
        status, before = new["status"], old["status"]
        if status.get("phase") == before.get("phase"):
            if status.get(_TRANSITION) is None and before.get(_TRANSITION) is not None:
                status[_TRANSITION] = before[_TRANSITION]
        elif status.get(_TRANSITION) in (None, before.get(_TRANSITION)):
            status[_TRANSITION] = call.backend.now()
