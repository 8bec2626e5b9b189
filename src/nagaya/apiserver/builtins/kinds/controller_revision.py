"""ControllerRevisions: what a workload was at some time, for whoever wants to go back."""

from __future__ import annotations

from typing import Final

import orjson

from nagaya.apiserver.builtins.kinds.core_strategy import CoreStrategy
from nagaya.apiserver.builtins.kinds.kind import Kind
from nagaya.apiserver.meta.field_errors import OMITTED, Cause, FieldError, Path, invalid, required
from nagaya.apiserver.meta.object_meta import IMMUTABLE
from nagaya.apiserver.meta.status import JsonObject

_DATA: Final = Path("data")


class ControllerRevisionStrategy(CoreStrategy):
    """ControllerRevisions, whose data never changes."""

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """The rules for revisions."""
        errors = []
        if (revision := obj.get("revision") or 0) < 0:
            errors.append(invalid("revision", revision, "must be greater than or equal to 0"))
        data = obj.get("data")
        if old is not None:
            if data != old.get("data"):
                errors.append(
                    FieldError(
                        Cause.INVALID,
                        "data",
                        OMITTED,
                        f"{orjson.dumps(data, option=orjson.OPT_SORT_KEYS).decode()}: {IMMUTABLE}",
                    )
                )
        elif data is None:
            errors.append(required(_DATA, "data is mandatory"))
        elif not isinstance(data, dict):
            errors.append(required(_DATA, "data must be a valid JSON object"))
        return errors


def controller_revisions() -> Kind:
    """ControllerRevisions have no status."""
    return Kind(ControllerRevisionStrategy())
