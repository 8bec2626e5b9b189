"""Whether there is a template for machines that are to be, on every host that may have them.

The same rules as for placement: a template on a local storage has to be on each host, with the same tags; one on a
shared storage is enough for all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from nagaya.api.proxmox.proxmox_cluster import ProxmoxCluster
from nagaya.api.proxmox.proxmox_cluster_spec import ProxmoxClusterSpec
from nagaya.api.proxmox.proxmox_machine import ProxmoxMachine
from nagaya.api.proxmox.proxmox_machine_spec import ProxmoxMachineSpec
from nagaya.api.proxmox.template_source import TemplateSelector, version_tag
from nagaya.infrastructure.proxmox import placement
from nagaya.infrastructure.proxmox.client import Proxmox, Snapshot
from nagaya.infrastructure.proxmox.client.errors import ProxmoxError
from nagaya.infrastructure.proxmox.client.machine_config import MachineConfig
from nagaya.infrastructure.proxmox.machine.wish import may_be_meant, template, world
from nagaya.infrastructure.proxmox.placement.templates import NoTemplate, meant


@dataclass(frozen=True, slots=True)
class Use:
    """Machines that are to be made, from one template object for one version."""

    who: str
    """Kind, namespace and name of the object that says so."""
    spec: ProxmoxMachineSpec
    version: str = ""
    allowed: frozenset[str] = frozenset()
    """Hosts that may have them; all if empty."""

    def wanted(self, default: TemplateSelector | None) -> placement.TemplateById | placement.TemplateByTags:
        """Which template is meant."""
        found = template(ProxmoxMachine(spec=self.spec), None, default)
        selector = self.spec.template_selector or default
        if isinstance(found, placement.TemplateById) or selector is None or not selector.match_kubernetes_version:
            return found
        return replace(found, tags=found.tags | {version_tag(self.version)}) if self.version else found


@dataclass(frozen=True, slots=True)
class Available:
    """What can be said of one use."""

    use: Use
    missing: str = ""
    """Why there is no template at all; empty if there is one."""
    lacking: Mapping[str, str] = field(default_factory=dict)
    """Hosts that could have a machine but for its template, and why."""
    hosts: tuple[str, ...] = ()
    """Hosts that can make machines from it."""


async def availability(
    proxmox: Proxmox, snapshot: Snapshot, uses: Collection[Use], default: TemplateSelector | None
) -> list[Available]:
    """Look at the templates that come into question, and judge. What cannot be read is told by its host."""
    wanted = [each.wanted(default) for each in uses]
    rows = [row for row in snapshot.machines.values() if row.template and any(may_be_meant(one, row) for one in wanted)]
    configs: dict[int, MachineConfig] = {}

    async def read(node: str, vmid: int) -> None:
        host = snapshot.hosts.get(node)
        if host is None or not host.online:
            return
        try:
            configs[vmid] = await proxmox.machines.config(node, vmid)
        except ProxmoxError:
            return  # placement tells that it could not be read

    await asyncio.gather(*(read(row.node, row.vmid) for row in rows))
    inventory = world(snapshot, ProxmoxCluster(spec=ProxmoxClusterSpec()), configs, {})
    return [judged(use, one, inventory) for use, one in zip(uses, wanted, strict=True)]


def judged(
    use: Use, wanted: placement.TemplateById | placement.TemplateByTags, inventory: placement.Inventory
) -> Available:
    """Where machines could be made. Pure."""
    copies = meant(placement.Wish("", 0, 0, wanted), inventory)
    if isinstance(copies, NoTemplate):
        return Available(use, copies.why)
    hosts = [each for each in inventory.hosts if each.online and not each.maintenance]
    hosts = [each for each in hosts if each.name in _allowed(use, wanted, copies.hosts, hosts)]
    found = {each.name: copies.usable(each) for each in sorted(hosts, key=lambda each: each.name)}
    return Available(
        use,
        lacking={name: told for name, told in found.items() if isinstance(told, str)},
        hosts=tuple(name for name, told in found.items() if not isinstance(told, str)),
    )


def _allowed(
    use: Use,
    wanted: placement.TemplateById | placement.TemplateByTags,
    own: Iterable[str],
    hosts: Iterable[placement.Host],
) -> frozenset[str]:
    """The hosts that may have a machine: of a template by id its own, unless somebody says otherwise."""
    if use.allowed:
        return use.allowed
    if isinstance(wanted, placement.TemplateById):
        return frozenset(own)
    return frozenset(each.name for each in hosts)
