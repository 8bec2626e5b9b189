"""systemd's units: the one that runs kubeadm, the one that keeps the clock, and one per mount."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from nagaya.bootstrap.ignition.kubeadm import CONFIGURATION, SCRIPT
from nagaya.bootstrap.preparation import Preparation
from nagaya.bootstrap.refusal import Refused

_KUBEADM: Final = f"""\
[Unit]
Description=kubeadm
# It is moved away after success, so that the next boot does not run this again.
ConditionPathExists={CONFIGURATION}
After=network.target
[Service]
Type=oneshot
ExecStart={SCRIPT}
[Install]
WantedBy=multi-user.target
"""
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9:_.]|^\.")


def units(preparation: Preparation) -> Iterator[dict[str, Any]]:
    """The units."""
    yield {"name": "kubeadm.service", "enabled": True, "contents": _KUBEADM}
    if preparation.ntp.enabled:
        yield {"name": "ntpd.service", "enabled": True}
    devices = {each.label: each.device for each in preparation.disk_setup.filesystems if each.label}
    for index, columns in enumerate(preparation.mounts):
        yield _mount(columns, devices, f"spec.mounts[{index}]")


def _mount(columns: tuple[str, ...], devices: dict[str, str], field: str) -> dict[str, Any]:
    if len(columns) < 2 or not columns[1].startswith("/"):
        raise Refused(field, "it does not say where to mount", "Give a label or device and an absolute path")
    if any(character in column for column in columns for character in "\n\r"):
        raise Refused(field, "a column has a line break in it", "Remove it")
    source, place, *options = columns
    lines = (
        "[Unit]",
        f"Description=Mount {source}",
        "[Mount]",
        f"What={_literal(devices.get(source, source))}",
        f"Where={_literal(place)}",
        f"Options={_literal(','.join(options))}",
        "[Install]",
        "WantedBy=multi-user.target",
    )
    return {"name": f"{unit_name(place)}.mount", "enabled": True, "contents": "\n".join(lines) + "\n"}


def unit_name(path: str) -> str:
    """A path as the name of a unit, as `systemd-escape --path` writes it. A mount unit must be named so."""
    parts = [part for part in path.split("/") if part]
    return "-".join(_UNSAFE.sub(_escaped, part) for part in parts) or "-"


def _escaped(match: re.Match[str]) -> str:
    return "".join(f"\\x{byte:02x}" for byte in match[0].encode())


def _literal(value: str) -> str:
    """systemd takes a percent sign for the beginning of a specifier."""
    return value.replace("%", "%%")
