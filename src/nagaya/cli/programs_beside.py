"""Which Kubernetes programs are missing where the controllers run, if that is this machine: as they would see it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from nagaya.cli import presence

if TYPE_CHECKING:
    from nagaya.insight.foresight.programs import Absent
    from nagaya.kube.client import Client


async def absent_beside(client: Client) -> Absent | None:
    """What looks for programs beside the controllers; None if their machine is another one, or not known."""
    given = await presence.environment(client)
    if given is None:
        return None
    from nagaya.binaries.installer import Installer

    installer = Installer(environment=given)

    def absent(version: str, names: Collection[str]) -> Sequence[str]:
        return installer.find(version, names)[1]

    return absent
