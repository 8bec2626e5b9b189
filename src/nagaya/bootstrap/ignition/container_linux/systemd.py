"""Units of systemd and of its network service."""

from __future__ import annotations

from typing import Any, Final

from nagaya.bootstrap.ignition.container_linux.fields import (
    Place,
    Table,
    boolean,
    ending,
    every,
    mapping,
    text,
    translate,
)

_KINDS: Final = (
    *(".service", ".socket", ".device", ".mount", ".automount", ".swap", ".target", ".path", ".timer"),
    *(".snapshot", ".slice", ".scope"),
)
_DROP_INS: Final = every(mapping({"name": ending(".conf"), "contents": text}))
_UNIT: Final[Table] = {
    "name": ending(*_KINDS),
    "enable": boolean,
    "enabled": boolean,
    "mask": boolean,
    "contents": text,
    "dropins": _DROP_INS,
}
_NETWORK_UNIT: Final[Table] = {
    "name": ending(".link", ".netdev", ".network"),
    "contents": text,
    "dropins": _DROP_INS,
}


def _unit(value: Any, place: Place) -> dict[str, Any]:
    found = translate(value, place, _UNIT)
    contents = found.get("contents", "")
    enabled = found.get("enable") or found.get("enabled")
    if enabled and contents and not any(line.strip() == "[Install]" for line in contents.splitlines()):
        place.at("contents").warn("it is to be enabled and has no section [Install]", "Add one, or do not enable it")
    return found


SYSTEMD: Final[Table] = {"units": every(_unit)}
NETWORKD: Final[Table] = {"units": every(mapping(_NETWORK_UNIT))}
