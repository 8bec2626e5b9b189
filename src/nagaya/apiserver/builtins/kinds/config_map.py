"""ConfigMaps: keys and values for people and programs, which may be frozen."""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.builtins.kinds.core_strategy import CoreStrategy
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden, invalid, too_long
from nagaya.apiserver.meta.status import JsonObject

SIZE_LIMIT: Final = 1024 * 1024
FROZEN: Final = "field is immutable when `immutable` is set"
_DATA: Final = Path("data")
_WHOLE: Final = "[]"  # as Go writes a path with an empty name
_BINARY: Final = Path("binaryData")


class ConfigMapStrategy(CoreStrategy):
    """ConfigMap."""

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """A frozen map stays as it is, and frozen."""
        return frozen_changes(new, old, ("data", "binaryData"))

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Keys are file names, no key stands in both maps, and all values together have a limit."""
        data: dict[str, str] = obj.get("data") or {}
        binary: dict[str, str | None] = obj.get("binaryData") or {}
        errors: list[FieldError] = []
        total = 0
        for key, text in data.items():
            errors += [invalid(_DATA.key(key), key, problem) for problem in names.config_key(key)]
            if key in binary:
                errors.append(invalid(_DATA.key(key), key, "duplicate of key present in binaryData"))
            total += names.size(text)
        for key, encoded in binary.items():
            errors += [invalid(_BINARY.key(key), key, problem) for problem in names.config_key(key)]
            total += decoded_size(encoded)
        if total > SIZE_LIMIT:
            errors.append(too_long(_WHOLE, SIZE_LIMIT))
        return errors


def frozen_changes(new: JsonObject, old: JsonObject, members: tuple[str, ...]) -> list[FieldError]:
    """What an update tries to do to an object that is marked as immutable."""
    if not old.get("immutable"):
        return []
    errors = [] if new.get("immutable") else [forbidden("immutable", FROZEN)]
    return errors + [forbidden(each, FROZEN) for each in members if (new.get(each) or {}) != (old.get(each) or {})]


def decoded_size(encoded: str | None) -> int:
    """How many bytes a base64 text stands for."""
    return len(encoded) * 3 // 4 - encoded[-2:].count("=") if encoded else 0
