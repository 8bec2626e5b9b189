"""One step of a path into an object, in the text form that `managedFields` uses.

`f:name` is a field or map key, `k:{"name":"a"}` a list item by its key fields, `v:"a"` an item of a set by its value
and `i:0` an item by its position. Each step has exactly one canonical text, so sets of fields can be plain
dictionaries keyed by it: equal steps are equal strings. The JSON inside `k:` and `v:` is written the way the real
server writes it, because clients see it and compare it.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import orjson

from nagaya.apiserver.meta import gostring, govalue
from nagaya.wire.remembered import remember_short

_PLAIN = re.compile(r"[ !#-%'-;=?-\[\]-~]*")
_SPECIAL = re.compile(r"[\x00-\x1f\"\\<>&\u2028\u2029]")
_SPECIAL_IN_NAME = re.compile(r"[\x00-\x1f\"\\]")
_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_INTEGER = re.compile(r"[+-]?[0-9]+")


def by_value(value: Any) -> str:
    """The step to the item of a set that has this value."""
    return "v:" + json(value)


def by_keys(keys: dict[str, Any]) -> str:
    """The step to the list item with these key fields."""
    return "k:{" + ",".join([head(name) + json(keys[name]) for name in sorted(keys)]) + "}"


def head(name: str) -> str:
    """What stands before the value of a key field."""
    return f'"{_SPECIAL_IN_NAME.sub(_escape, name)}":'


def json(value: Any) -> str:
    """The value of a key field or of an item."""
    kind = value.__class__
    if kind is str:
        return f'"{value}"' if _PLAIN.fullmatch(value) else f'"{_SPECIAL.sub(_escape, value)}"'
    if kind is int:
        return str(value)
    if kind is bool:
        return "true" if value else "false"
    if value is None:
        return "null"
    if kind is float:
        return _float(value)
    if kind is list:
        return "[" + ",".join([json(item) for item in value]) + "]"
    return "{" + ",".join([f'"{_SPECIAL.sub(_escape, name)}":{json(value[name])}' for name in sorted(value)]) + "}"


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    return _SHORT.get(char) or f"\\u{ord(char):04x}"


def _float(value: float) -> str:
    if value and not 1e-6 <= abs(value) < 1e21:
        return gostring.number(value)
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


@remember_short(8192)
def canonical(text: str) -> str | None:
    """The one text for a step that somebody else wrote; None for a kind of step that nobody knows yet.

    Raises ValueError when it is no step at all.
    """
    if len(text) < 2:
        raise ValueError("key must be 2 characters long:")
    if text[1] != ":":
        raise ValueError(f"missing colon: {text}")
    kind, rest = text[0], text[2:]
    if kind == "f":
        return text
    if kind == "i":
        if not _INTEGER.fullmatch(rest):
            raise ValueError(f'strconv.Atoi: parsing "{rest}": invalid syntax')
        return f"i:{int(rest)}"
    if kind == "v":
        return by_value(_numbers_as_floats(orjson.loads(rest)))
    if kind == "k":
        keys = orjson.loads(rest)
        if keys is None:
            keys = {}
        if not isinstance(keys, dict):
            raise ValueError("expect { or n")
        return by_keys(_numbers_as_floats(keys))
    return None


def _numbers_as_floats(value: Any) -> Any:
    if value.__class__ is int:
        return float(value)
    if value.__class__ is list:
        return [_numbers_as_floats(item) for item in value]
    if value.__class__ is dict:
        return {name: _numbers_as_floats(item) for name, item in value.items()}
    return value


Order = tuple[int, Any]


@remember_short(8192)
def order(text: str) -> Order:
    """What a canonical step is sorted by: fields, then keys, then values, then positions."""
    kind, rest = text[0], text[2:]
    if kind == "f":
        return 1, rest
    if kind == "k":
        keys = orjson.loads(rest)
        return 2, tuple((name, _value_order(keys[name])) for name in sorted(keys))
    if kind == "v":
        return 3, _value_order(orjson.loads(rest))
    if kind == "i":
        return 4, int(rest)
    return 0, ""  # "." stands for the container and comes first


def _value_order(value: Any) -> Order:
    kind = value.__class__
    if kind is float or kind is int:
        return 0, float(value)
    if kind is str:
        return 1, value
    if kind is bool:
        return 2, value
    if kind is list:
        return 3, tuple(_value_order(item) for item in value)
    if kind is dict:
        return 4, tuple((name, _value_order(value[name])) for name in sorted(value))
    return 5, None


@remember_short(8192)
def display(text: str) -> str:
    """A canonical step as messages show it: `.name`, `[name="a"]`, `[="a"]` or `[0]`."""
    kind, rest = text[0], text[2:]
    if kind == "f":
        return f".{rest}"
    if kind == "k":
        keys = _numbers_as_floats(orjson.loads(rest))
        return "[" + ",".join(f"{name}={show(keys[name])}" for name in sorted(keys)) + "]"
    if kind == "v":
        return f"[={show(_numbers_as_floats(orjson.loads(rest)))}]"
    return f"[{rest}]"


def show(value: Any) -> str:
    """The value of a key field as messages show it."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return gostring.quote(value)
    if isinstance(value, list):
        return "[" + ",".join(show(item) for item in value) + "]"
    if isinstance(value, dict):
        return "".join(f"{name}={show(item)}" for name, item in value.items())
    return govalue.plain(value)
