"""The configuration of ntpd: who is asked for the time, and that nobody may ask this machine for more than that."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from nagaya.bootstrap.ignition.files import generated

_RESTRICTIONS: Final = (
    "restrict default nomodify nopeer noquery notrap limited kod",
    "restrict 127.0.0.1",
    "restrict [::1]",
)


def ntp_configuration(servers: Iterable[str]) -> dict[str, Any]:
    """/etc/ntp.conf."""
    lines = (*(f"server {server}" for server in servers), *_RESTRICTIONS)
    return generated("/etc/ntp.conf", "\n".join(lines) + "\n", 0o644)
