"""Machines that were made a moment ago, with what the list of a data center does not say of them yet.

For up to 10 s after a machine was made, or made a template, the list does not say that it is one: it says nothing, or
what was so before. Controllers look again; a person who has just made a template and asks for it should not be told
that there is none. Its configuration says it. Only such machines are read: tags are never late, and templates do not
run.
"""

from __future__ import annotations

from dataclasses import replace

from nagaya.infrastructure.proxmox.client.errors import ProxmoxError
from nagaya.infrastructure.proxmox.client.inventory import Snapshot
from nagaya.infrastructure.proxmox.client.proxmox import Proxmox
from nagaya.infrastructure.proxmox.client.rows import MachineRow, Status


async def filled_in(proxmox: Proxmox, snapshot: Snapshot) -> Snapshot:
    """The same with names, tags and kinds of such machines. What cannot be read stays as it is."""
    machines = dict(snapshot.machines)
    for row in snapshot.machines.values():
        host = snapshot.hosts.get(row.node)
        if host is None or not host.online or not _may_be_template(row):
            continue
        try:
            config = await proxmox.machines.config(row.node, row.vmid)
        except ProxmoxError:
            continue  # it is gone again, or not ours to read
        machines[row.vmid] = replace(row, name=config.get("name") or None, template=config.template, tags=config.tags)
    return replace(snapshot, machines=machines)


def _may_be_template(row: MachineRow) -> bool:
    """Whether it may have become one since its host told of it."""
    return row.template is None or (not row.template and bool(row.tags) and row.status is not Status.RUNNING)
