"""All hosts of an emulated data center on ports of this machine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import to_pem
from nagaya.simulators.proxmox.emulator import Emulator
from nagaya.simulators.proxmox.state.node import Node
from nagaya.simulators.proxmox.web.certificates import HostCertificate, host_certificate
from nagaya.simulators.proxmox.web.certificates import authority as new_authority
from nagaya.simulators.proxmox.web.listener import Listener

Address = tuple[str, int]
"""Host and port; port 0 takes any that is free."""


@dataclass(slots=True)
class Web:
    """A data center that can be reached over HTTPS."""

    emulator: Emulator
    authority: CertificateAuthority
    certificates: dict[str, HostCertificate] = field(default_factory=dict)
    endpoints: dict[str, str] = field(default_factory=dict)
    """By host, e.g. `https://127.0.0.1:8006`."""
    listeners: dict[str, Listener] = field(default_factory=dict)

    async def open(self, node: str, address: Address) -> None:
        """Let a host be reached."""
        host, port = address
        clock = self.emulator.world.clock
        facts = self.emulator.datacenter.nodes[node]
        certificate = host_certificate(self.authority, node, [host, facts.address], clock)
        facts.fingerprint = certificate.fingerprint
        facts.certificate = certificate.pair.certificate.decode()
        self.certificates[node] = certificate
        listener = self.listeners[node] = Listener(self.emulator, facts, certificate.context, host, port)
        shown = f"[{host}]" if ":" in host else host
        self.endpoints[node] = f"https://{shown}:{listener.port}"
        listener.follow_power()

    def power_changed(self, node: Node) -> None:
        """A host has gone off or come back."""
        if node.name in self.listeners:
            self.listeners[node.name].follow_power()

    async def close(self) -> None:
        """Leave all ports."""
        await asyncio.gather(*(listener.close() for listener in self.listeners.values()))


@asynccontextmanager
async def served(
    emulator: Emulator,
    addresses: Mapping[str, Address] | None = None,
    *,
    authority: CertificateAuthority | None = None,
) -> AsyncIterator[Web]:
    """The hosts of a data center on addresses of this machine, each on a free port of 127.0.0.1 unless said else. With
    the `authority` of an earlier life clients take it for the same data center."""
    web = Web(emulator, authority or new_authority(emulator.world.clock))
    emulator.datacenter.authority = to_pem(web.authority.certificate).decode()
    emulator.power_watchers.append(web.power_changed)
    try:
        for node in emulator.datacenter.nodes:
            await web.open(node, (addresses or {}).get(node, ("127.0.0.1", 0)))
        yield web
    finally:
        emulator.power_watchers.remove(web.power_changed)
        await web.close()
