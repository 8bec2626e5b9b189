"""Volume attributes classes: what a driver is told when a volume changes."""

from __future__ import annotations

from nagaya.apiserver.builtins.kinds.ordered_strategy import OrderedStrategy
from nagaya.apiserver.builtins.kinds.storage_class import parameter_errors, provisioner_errors
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden
from nagaya.apiserver.meta.status import JsonObject


class VolumeAttributesClassStrategy(OrderedStrategy):
    """VolumeAttributesClass."""

    returns_deleted = True

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """Nothing may change."""
        return [
            forbidden(member, f"updates to {member} are forbidden.")
            for member in ("driverName", "parameters")
            if new.get(member) != old.get(member)
        ]

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """A driver, and something to tell it."""
        parameters = parameter_errors(obj.get("parameters") or {}, Path("parameters"), needed=True)
        return provisioner_errors(obj["driverName"], Path("driverName")) + parameters
