"""Leases: who leads, and until when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nagaya.apiserver.meta import object_meta
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.strategy import Strategy

_SPEC: Final = Path("spec")
_COORDINATED: Final = ("strategy", "preferredHolder")


class LeaseStrategy(Strategy):
    """Lease. Coordinated leader election is not enabled by default, so its members are not kept."""

    allow_create_on_update = True
    allow_unconditional_update = False
    finalizers_checked = False

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """Drop what is not enabled."""
        for member in _COORDINATED:
            obj["spec"].pop(member, None)

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """The same."""
        self.prepare_create(new, call)

    def validate_create(self, obj: JsonObject, call: Call, found: Sequence[FieldError]) -> list[FieldError]:
        """A lease lasts a while."""
        return _errors(obj["spec"])

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """The rules for changes of metadata, once more, and those for a new lease."""
        again = object_meta.validate_update(new["metadata"], old["metadata"]) if found else []
        return again + _errors(new["spec"])


def _errors(spec: JsonObject) -> list[FieldError]:
    errors = []
    seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if seconds is not None and seconds <= 0:
        errors.append(invalid(_SPEC.child("leaseDurationSeconds"), seconds, "must be greater than 0"))
    if transitions is not None and transitions < 0:
        errors.append(invalid(_SPEC.child("leaseTransitions"), transitions, "must be greater than or equal to 0"))
    return errors
