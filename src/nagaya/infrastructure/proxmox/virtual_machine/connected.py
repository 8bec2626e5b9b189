"""Links by way of the registry of connections."""

from __future__ import annotations

from functools import partial

from nagaya.api.proxmox.life import ISO, NATIVE
from nagaya.api.proxmox.proxmox_cluster import ProxmoxCluster
from nagaya.api.proxmox.proxmox_virtual_machine import NamespacedConnectionReference
from nagaya.infrastructure.proxmox.client.errors import Forbidden, ProxmoxError, RootOnly
from nagaya.infrastructure.proxmox.connection.connections import Connected, Connections
from nagaya.infrastructure.proxmox.connection.reference import NoConnection, Reference
from nagaya.infrastructure.proxmox.privileges.granting import command_for
from nagaya.infrastructure.proxmox.privileges.missing import commands
from nagaya.infrastructure.proxmox.virtual_machine.link import Link


class ConnectedLinks:
    """The connections of a process, as machines need them."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def of_cluster(self, cluster: ProxmoxCluster) -> Link | str:
        """That of a cluster, or why it cannot be used."""
        try:
            return await self._link(await self._connections.of(cluster))
        except (NoConnection, ProxmoxError) as error:
            return str(error)

    async def of_reference(self, reference: NamespacedConnectionReference, used_in: str) -> Link | str:
        """That of a reservation, or why it cannot be used."""
        try:
            return await self._link(await self._connections.at(reference, used_in))
        except (NoConnection, ProxmoxError) as error:
            return str(error)

    async def _link(self, connected: Connected) -> Link | str:
        if connected.findings is None:
            connected = await self._connections.examined(connected.reference)
        if not connected.datacenter:
            return f"{connected.reference} does not say which Proxmox VE it is yet."
        defaults, checked = connected.defaults, connected.preflight
        return Link(
            connected.proxmox,
            connected.datacenter,
            connected.reference.written,
            connected.pool,
            defaults.storage,
            defaults.iso_storage,
            defaults.bridge,
            defaults.template_selector,
            # Where nothing is known of rights, it is tried: a refusal names what is missing.
            checked is None or not checked.deliveries or ISO in checked.deliveries,
            partial(self._connections.refused, connected.reference),
            partial(self._remedy, connected.reference),
            checked is None or not checked.deliveries or NATIVE in checked.deliveries,
            connected.credentials_in,
        )

    async def _remedy(self, reference: Reference, error: Forbidden) -> str:
        """The commands that grant what was missing. Roles are granted whole and at places of their own, so it takes the
        look at all privileges that a refusal leads to."""
        try:
            connected = await self._connections.examined(reference)
        except (NoConnection, ProxmoxError):
            return ""
        checked, findings = connected.preflight, connected.findings
        if checked is None or findings is None or isinstance(error, RootOnly):
            return ""
        # Of an upload that is refused, PVE does not say what is missing for it.
        named = [each for each in checked.missing if not error.privileges or each.privilege in error.privileges]
        lines = commands(named)
        if not named and (
            line := command_for(error.path, error.privileges, findings.version.release, findings.subject)
        ):
            lines = (line,)
        return f" On any host run: {'; '.join(lines)}" if lines else ""
