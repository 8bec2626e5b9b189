"""Types of what Proxmox VE answers, checked before anything is made of it.

A field means the same in most answers, so one table has those that are read, wherever they occur. PVE writes numbers as
text now and then, and nothing for false: both are understood. Anything else of a wrong type is Malformed, and the error
names host, path and field; so is a field that is missing when it is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from nagaya.infrastructure.proxmox.client.errors import Evidence, Malformed

_REMEDY: Final = (
    "Check that the address leads to Proxmox VE, and that this version of it is supported (nagaya proxmox check)."
)
_INTEGER: Final = re.compile(r"-?[0-9]{1,18}")
_NUMBER: Final = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?")
_NODE: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_LARGEST: Final = 1 << 60
_LATEST: Final = 253_402_300_799
"""The last second of the year 9999."""
_LONGEST: Final = 64 << 10
_MOST_ROWS: Final = 100_000
_SHOWN: Final = 60


@dataclass(frozen=True, slots=True, eq=False)
class _Type:
    """What a value may be: its name in errors, and the check."""

    noun: str
    fits: Callable[[Any], bool]
    nested: bool = False
    """Whether it has fields of its own, which are checked too."""


def _is_number(value: Any, pattern: re.Pattern[str]) -> bool:
    if isinstance(value, str):
        return pattern.fullmatch(value) is not None
    return isinstance(value, int | float) and abs(value) <= _LARGEST


def _is_list(value: Any, kind: _Type) -> bool:
    return isinstance(value, list) and all(map(kind.fits, value))


_text = _Type("a text", lambda value: isinstance(value, str) and len(value) <= _LONGEST)
_long_text = _Type("a text", lambda value: isinstance(value, str))
_scalar = _Type(
    "a text or a number", lambda value: value is None or isinstance(value, int | float) or _text.fits(value)
)
_name = _Type(
    "a text without control characters, or a number",
    lambda value: _scalar.fits(value) and (not isinstance(value, str) or value.isprintable()),
)
_integer = _Type("a whole number", lambda value: _is_number(value, _INTEGER))
_number = _Type("a number", lambda value: _is_number(value, _NUMBER))
_time = _Type("a point in time", lambda value: _integer.fits(value) and 0 <= int(value) <= _LATEST)
_node = _Type("the name of a host", lambda value: isinstance(value, str) and _NODE.fullmatch(value) is not None)
_record = _Type("a record", lambda value: isinstance(value, dict), nested=True)
_rows = _Type("a list of records", lambda value: _is_list(value, _record), nested=True)
_texts = _Type("a list of texts", lambda value: _is_list(value, _text))
_nested = _Type("a record or a list of records", lambda value: _record.fits(value) or _rows.fits(value), nested=True)
_FIELDS: Final[Mapping[str, _Type]] = {
    name: kind
    for kind, names in (
        (_text, "type status userid roleid tokenid full-tokenid path ugid upid volid ticket CSRFPreventionToken ip "
                "iface filename fingerprint pem ip-address vnet zone"),
        (_long_text, "content out-data err-data"),
        (_name, "name id hastate lock tags pool storage plugintype kversion privs format parent poolid sid state group "
                "rule resources affinity digest key qmpstatus hardware-address"),
        (_scalar, "exitstatus t comment value pending"),
        (_integer, "vmid maxmem mem maxdisk disk uptime cpus total used avail size endtime max_restart max_relocate "
                   "online local template shared active enabled enable propagate privsep agent managed quorate exited "
                   "exitcode pid prefix delete n"),
        (_number, "maxcpu cpu"),
        (_time, "time localtime ctime expire"),
        (_node, "node"),
        (_record, "memory cpuinfo ha"),
        (_rows, "members ip-addresses"),
        (_texts, "map"),
        (_nested, "result"),
    )
    for name in names.split()
}  # fmt: skip
_NUMERIC: Final = frozenset({_integer, _number, _scalar, _name})
_ABSENT: Final = (None, "")
"""As good as not there, where a number or a record is meant."""


class Record(dict[str, Any]):
    """A record of an answer. Reading a field that is missing raises Malformed."""

    __slots__ = ("asked",)

    def __init__(self, fields: Mapping[str, Any], asked: Evidence) -> None:
        super().__init__(fields)
        self.asked = asked

    def __missing__(self, field: str) -> Any:
        raise malformed(self.asked, f"{field} is missing")


def typed(data: Any, asked: Evidence) -> Any:
    """The data of an answer, once its fields are of their types. Raises Malformed."""
    if isinstance(data, list):
        if len(data) > _MOST_ROWS:
            raise malformed(asked, f"{len(data)} rows are more than {_MOST_ROWS}")
        return [typed(row, asked) if isinstance(row, dict) else row for row in data]
    return _checked(data, asked) if isinstance(data, dict) else data


def malformed(asked: Evidence, what: str) -> Malformed:
    """The error of an answer in which something is wrong. `asked` names the host and the path."""
    return Malformed(replace(asked, status=200, reason="OK", message=what), _REMEDY)


def shown(value: Any) -> str:
    """A value as messages have it."""
    return "null" if value is None else repr(str(value)[:_SHOWN] if isinstance(value, dict | list) else value)[:_SHOWN]


def _checked(row: dict[str, Any], asked: Evidence) -> Record:
    common = _common_type(asked.path)
    found = Record(row, asked)
    for name, value in row.items():
        wanted = common or _FIELDS.get(name)
        # Most fields of a large list are plain numbers and short names, which need no call.
        if wanted is None or (value.__class__ is int and wanted in _NUMERIC):
            continue
        if wanted.fits(value):
            if wanted.nested:
                found[name] = typed(value, asked)
        elif value in _ABSENT:
            del found[name]
        else:
            raise malformed(asked, f"{name[:_SHOWN]}: {shown(value)} is not {wanted.noun}")
    return found


def _common_type(path: str) -> _Type | None:
    """The type of all fields of some answers, whatever their names."""
    if path.endswith("/version"):
        return _text
    return _scalar if path.endswith("/config") else None
