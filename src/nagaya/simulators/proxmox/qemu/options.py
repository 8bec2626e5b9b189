"""The options of a machine: which there are, of what type, and how those that have parts are taken apart.

In a file everything is text. What PVE's code reads is a number where the option is an integer or a switch, and text
otherwise, so that `memory` is a string in an answer and `kvm` a number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.surface import Schema, routes
from nagaya.simulators.proxmox.verification import FormatError, Properties, check_format, parse, render

_NO_OPTIONS = frozenset(
    {"node", "vmid", "skiplock", "delete", "revert", "force", "digest", "background_delay", "import-working-storage"}
)
_INTERNAL = {
    "parent": Schema(type="string"),
    "snaptime": Schema(type="integer"),
    "vmstate": Schema(type="string"),
    "runningmachine": Schema(type="string"),
    "runningcpu": Schema(type="string"),
    "running-nets-host-mtu": Schema(type="string"),
    "meta": Schema(type="string"),
}
"""Options that PVE writes and that no caller can give."""
_ON = re.compile(r"(?:1|on|yes|true)", re.IGNORECASE)
_OFF = re.compile(r"(?:0|off|no|false)", re.IGNORECASE)
NUMBERED = re.compile(r"([a-z]+?)(\d+)")


@cache
def schemas() -> Mapping[str, Schema]:
    """All options."""
    given = routes().get("POST", "/nodes/{node}/qemu/{vmid}/config").parameters.properties
    return {name: schema for name, schema in given.items() if name not in _NO_OPTIONS} | _INTERNAL


def exists(option: str) -> bool:
    """Whether there is such an option."""
    return option in schemas()


def family(option: str) -> str:
    """`net` for net3; the option itself if it has no number."""
    found = NUMBERED.fullmatch(option)
    return found[1] if found else option


def stored(option: str, value: Any) -> Any:
    """The value as PVE reads it back from the file; None if it does not, as some that are empty."""
    if value is None:
        raise Failure(f"unable to parse value of '{option}' - got undefined value\n")
    text = str(int(value)) if isinstance(value, bool) else str(value)
    return text if option == "description" else _stored(option, text)


@lru_cache(maxsize=8192)
def _stored(option: str, text: str) -> Any:
    if (schema := schemas().get(option)) is None:
        raise Failure(f"unable to parse value of '{option}' - unknown setting '{option}'\n")
    if "\n" in text or "\r" in text:
        raise Failure(f"unable to parse value of '{option}' - property contains a line feed\n")
    try:
        typed = _typed(schema, text)
    except FormatError as error:
        raise Failure(f"unable to parse value of '{option}' - {error.text}") from None
    if not isinstance(typed, str):
        return typed
    # A line needs something behind its colon: of an empty value the blank is left.
    return typed.strip(" \t") or _blank(schema)


def _blank(schema: Schema) -> str | None:
    """What is read of a line with nothing but a blank; one that the option cannot be is passed over."""
    try:
        return str(_typed(schema, " "))
    except FormatError:
        return None


def _typed(schema: Schema, text: str) -> Any:
    if schema.type == "boolean":
        if _ON.fullmatch(text):
            return 1
        if _OFF.fullmatch(text):
            return 0
        raise FormatError(f"type check ('boolean') failed - got '{text}'\n")
    if schema.type == "integer":
        if not text.isdecimal():
            raise FormatError(f"type check ('integer') failed - got '{text}'\n")
        return int(text)
    if schema.type == "number":
        if not re.fullmatch(r"\d+(?:\.\d+)?", text):
            raise FormatError(f"type check ('number') failed - got '{text}'\n")
        return text
    if schema.format is not None:
        if text:
            check_format(schema.format, text)
        return text
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] == '"' else text


def parts(option: str, text: str) -> Properties:
    """The parts of an option such as `virtio=BC:24:11:00:00:01,bridge=vmbr0`."""
    return dict(_parts(option, text))


@lru_cache(maxsize=8192)
def _parts(option: str, text: str) -> tuple[tuple[str, str | bool], ...]:
    form = schemas()[option].format
    if form is None:
        raise KeyError(option)
    return tuple(parse(form, text).items())


def joined(option: str, values: Mapping[str, str | int | bool | None]) -> str:
    """Parts in PVE's order."""
    form = schemas()[option].format
    if form is None:
        raise KeyError(option)
    return render(values, form)


def megabytes(memory: object) -> int:
    """How much memory an option `memory` gives a machine."""
    if memory is None:
        return 512
    found = parts("memory", str(memory)).get("current", 512)
    return int(found)


def listed(text: str) -> dict[str, str]:
    """The parts of a text such as `node=pve1,id=10de:1234` that is no option."""
    pairs = (part.partition("=") for part in text.split(",") if part)
    return {name: value for name, _, value in pairs}
