"""PVE's property strings, such as `virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=5` or `local-lvm:vm-100-disk-0,size=20G`.

One part may stand without a key (`leading`): a volume, mostly. There is no way to escape anything in them, so what
cannot be written is refused with the name of the field, instead of becoming another option.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

_KEY: Final = re.compile(r"^[A-Za-z0-9_-]+$")
_UNWRITABLE: Final = re.compile(r"[,\x00-\x1f\x7f]")


class Unwritable(ValueError):
    """A value that has no place in a property string."""

    def __init__(self, name: str, value: str, why: str) -> None:
        super().__init__(f"{name}: {value!r} cannot be written into Proxmox VE's configuration: {why}")
        self.field = name


@dataclass(frozen=True, slots=True)
class PropertyString:
    """The parts, in order."""

    leading: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def get(self, key: str, default: str = "") -> str:
        """An option's value."""
        return self.options.get(key, default)

    def having(self, **options: str | int | bool | None) -> PropertyString:
        """The same with these options changed; None takes one away. `a_b` stands for itself, not for `a-b`."""
        changed = dict(self.options)
        for key, value in options.items():
            if value is None:
                changed.pop(key, None)
            else:
                changed[key] = _text(value)
        return PropertyString(self.leading, changed)

    def written(self, name: str) -> str:
        """As PVE reads it. `name` is the field's (net0, scsi1, ...). Raises Unwritable."""
        parts: list[str] = []
        if self.leading is not None:
            if not self.leading or "=" in self.leading:
                raise Unwritable(name, self.leading, "without a key it must be there and hold no '='")
            parts.append(_writable(name, self.leading))
        for key, value in self.options.items():
            if not _KEY.match(key):
                raise Unwritable(name, key, "it is no name of an option")
            if not value:
                raise Unwritable(f"{name}.{key}", value, "it is empty")
            parts.append(f"{key}={_writable(f'{name}.{key}', value)}")
        if not parts:
            raise Unwritable(name, "", "it is empty")
        return ",".join(parts)


def of(leading: str | None = None, **options: str | int | bool | None) -> PropertyString:
    """From Python's values: booleans become 1 and 0, and None is left out."""
    return PropertyString(leading).having(**options)


def parse(text: str) -> PropertyString:
    """What PVE wrote. Parts that are empty do not count; of several without a key, the first does."""
    leading: str | None = None
    options: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = part.strip().partition("=")
        if equals and key and value:
            options[key] = value
        elif key and not equals and leading is None:
            leading = key
    return PropertyString(leading, options)


def _text(value: str | int | bool) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def _writable(name: str, value: str) -> str:
    if _UNWRITABLE.search(value):
        raise Unwritable(name, value, "it holds a comma or a control character")
    if value != value.strip():
        raise Unwritable(name, value, "it begins or ends with a space")
    return value
