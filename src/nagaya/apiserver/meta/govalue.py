"""JSON values as Go's `fmt` prints them, because a few messages and table cells show whole maps and lists.

Only what JSON can hold is covered. Maps are printed with sorted keys, as Go does.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from nagaya.apiserver.meta import gostring


def plain(value: Any) -> str:
    """A value as `%v` prints it: `map[a:1 b:[x y]]`."""
    if isinstance(value, str):
        return value
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return gostring.number(value)
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{plain(value[key])}' for key in sorted(value))}]"
    return f"[{' '.join(plain(item) for item in value)}]"


def literal(value: Any) -> str:
    """A value as `%#v` prints it: `map[string]interface {}{"a":1}`."""
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, str):
        return gostring.quote(value)
    if isinstance(value, list):
        return "[]interface {}{" + ", ".join(literal(item) for item in value) + "}"
    if isinstance(value, dict):
        items = ", ".join(f"{gostring.quote(name)}:{literal(value[name])}" for name in sorted(value))
        return f"map[string]interface {{}}{{{items}}}"
    return plain(value)


def as_string(value: Any) -> str:
    """A value as `%s` prints it: what is not a string is marked as a mistake, `%!s(int64=1)`."""
    if isinstance(value, str):
        return value
    if value is None:
        return "%!s(<nil>)"
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{as_string(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(as_string(item) for item in value)}]"
    return f"%!s({type_name(value)}={plain(value)})"


def type_name(value: Any) -> str:
    """The Go type that holds this value after Kubernetes has decoded it from JSON, as `%T` prints it."""
    if isinstance(value, str):
        return "string"
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int64"
    if isinstance(value, float):
        return "float64"
    return "map[string]interface {}" if isinstance(value, dict) else "[]interface {}"


def compact_json(value: Any) -> str:
    """A value as `json.Marshal` writes it, with numbers as Go keeps them: whole ones have no fraction."""
    return gostring.json(_whole(value))


_HTML: Final = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})


def struct_json(value: Any) -> str:
    """Like `compact_json`, with the members of maps in the order that they have, as a Go struct has one."""
    return orjson.dumps(_whole(value)).decode().translate(_HTML)


def _whole(value: Any) -> Any:
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**63 else value
    if isinstance(value, dict):
        return {key: _whole(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return value
