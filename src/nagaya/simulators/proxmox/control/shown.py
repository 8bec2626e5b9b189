"""The state of the data center as plain values. Secrets of tokens, passwords and the content of files are not in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nagaya.simulators.proxmox.state.storage import Volume

if TYPE_CHECKING:
    from nagaya.simulators.proxmox.emulator import Emulator

_SECRET = frozenset({"cipassword"})


def state(emulator: Emulator) -> dict[str, Any]:
    """All of it."""
    datacenter = emulator.datacenter
    return {
        "cluster": {"name": datacenter.name, "version": datacenter.version, "quorate": datacenter.quorate},
        "hosts": [
            {
                "name": node.name,
                "address": node.address,
                "online": node.online,
                "daemon": node.daemon,
                "unreachable": node.unreachable.name.lower(),
                "slowness": node.slowness,
                "maintenance": node.maintenance,
            }
            for node in datacenter.nodes.values()
        ],
        "machines": [
            {
                "vmid": guest.vmid,
                "host": guest.node,
                "running": guest.running,
                "lock": guest.lock,
                "template": guest.template,
                "config": {name: value for name, value in guest.config.items() if name not in _SECRET},
            }
            for guest in datacenter.guests.values()
        ],
        "storages": [
            {"name": storage.name, "type": storage.type, "reachable": storage.reachable, "capacity": storage.capacity}
            for storage in datacenter.storages.values()
        ],
        "volumes": [_volume(volume) for volume in datacenter.volumes.values()],
        "pools": {name: sorted(pool.vms) for name, pool in datacenter.pools.items()},
        "tokens": [
            {"id": f"{user}!{name}", "separated": token.privilege_separation, "expire": token.expire}
            for user, facts in datacenter.access.users.items()
            for name, token in facts.tokens.items()
        ],
        "tasks": [
            {"upid": upid, "running": task.running, "exitstatus": task.exitstatus}
            for upid, task in emulator.tasks.known.items()
        ],
    }


def _volume(volume: Volume) -> dict[str, Any]:
    return {
        "id": volume.id,
        "host": volume.node,
        "content": volume.content,
        "format": volume.format,
        "size": volume.size,
        "vmid": volume.vmid,
        "parent": volume.parent,
    }
