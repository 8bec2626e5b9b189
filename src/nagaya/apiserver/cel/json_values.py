"""CEL values as JSON, by the rules that protocol buffers have for it: large integers and durations become text."""

from __future__ import annotations

import base64
from typing import Any, Final

from nagaya.apiserver.cel import times
from nagaya.apiserver.cel.values import CelError, Duration, MapLike, Timestamp, type_name

_SAFE: Final = 2**53 - 1


def to_json(value: Any) -> Any:
    """The JSON for a value. Raises CelError for values that have none."""
    if value is None or isinstance(value, (bool, str, float)):
        return value
    if isinstance(value, int):
        return int(value) if -_SAFE <= value <= _SAFE else str(int(value))
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Timestamp):
        return times.format_timestamp(value)
    if isinstance(value, Duration):
        return times.format_duration(value)
    if isinstance(value, list):
        return [to_json(each) for each in value]
    if isinstance(value, MapLike):
        return to_json(value.native())
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise CelError(f"map key is of type {type_name(key)}, not string")
        return {key: to_json(each) for key, each in value.items()}
    raise CelError(f"type conversion error from '{type_name(value)}' to JSON")
