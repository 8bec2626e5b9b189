"""Calls about virtual machines. Those that return a Upid have only begun when they return.

A machine is named by host and VMID, as PVE wants it; PVE may move it meanwhile, and then it is NotFound on that host.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, Unpack
from urllib.parse import quote

from nagaya.infrastructure.proxmox.client import machine_config
from nagaya.infrastructure.proxmox.client.calls import Calls, Parameters, Value, path_of
from nagaya.infrastructure.proxmox.client.machine_config import MachineConfig, MachineStatus, PendingChange
from nagaya.infrastructure.proxmox.client.upid import Upid


class Change(TypedDict, total=False):
    """What a change of options may say besides."""

    delete: Iterable[str]
    """Options that go."""
    with_volumes: bool
    """A drive that is deleted goes with its volume or not at all: if that cannot be removed, the call fails, and the
    drive stays until a later change or the next start has removed it. Without, PVE keeps a disk as unused, and forgets
    a cloud-init drive though its volume may still be there."""
    digest: str
    """Of the configuration that is changed. Raises Conflict if it is another one by now."""


class Machines:
    """Of one data center."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def on(self, node: str) -> list[dict[str, Any]]:
        """The rows of a host's machines, those that the credentials may see."""
        return await self._calls.rows(path_of("nodes", node, "qemu"))

    async def config(self, node: str, vmid: int, *, current: bool = False) -> MachineConfig:
        """With what waits for the next start; with `current`, as it runs. Raises NotFound."""
        data = await self._calls.record(_path(node, vmid, "config"), {"current": True if current else None})
        return machine_config.config(data)

    async def pending(self, node: str, vmid: int) -> tuple[PendingChange, ...]:
        """What the next start will change."""
        return machine_config.pending(await self._calls.rows(_path(node, vmid, "pending")))

    async def status(self, node: str, vmid: int) -> MachineStatus:
        """Whether it runs. Raises NotFound."""
        return machine_config.status(await self._calls.record(_path(node, vmid, "status", "current")))

    async def create(self, node: str, vmid: int, options: Parameters, *, pool: str = "", start: bool = False) -> Upid:
        """Make one that is no copy. Raises Conflict if the id is taken."""
        given = {"vmid": vmid, **_options(options), "pool": pool or None, "start": start or None}
        return await self._calls.begin("POST", path_of("nodes", node, "qemu"), given)

    async def clone(
        self,
        node: str,
        vmid: int,
        new: int,
        *,
        name: str,
        description: str = "",
        pool: str = "",
        full: bool = True,
        storage: str = "",
        format: str = "",
        target: str = "",
        snapshot: str = "",
    ) -> Upid:
        """Copy one. The task runs on the source's host, also when the copy goes elsewhere (`target`). Raises Conflict
        if the id is taken."""
        given: Parameters = {
            "newid": new,
            "name": name,
            "description": description or None,
            "pool": pool or None,
            "full": full,
            "storage": storage or None,
            "format": format or None,
            "target": target or None,
            "snapname": snapshot or None,
        }
        return await self._calls.begin("POST", _path(node, vmid, "clone"), given)

    async def configure(self, node: str, vmid: int, options: Parameters, **more: Unpack[Change]) -> None:
        """Change options, and return when that is done. For options that make no volumes: PVE gives up after 30 s."""
        await self._calls.put(_path(node, vmid, "config"), _change(options, more))

    async def begin_configure(self, node: str, vmid: int, options: Parameters, **more: Unpack[Change]) -> Upid:
        """Change options in a task: for those that make or free volumes."""
        return await self._calls.begin("POST", _path(node, vmid, "config"), _change(options, more))

    async def resize(self, node: str, vmid: int, disk: str, size: str, *, digest: str = "") -> Upid:
        """Grow a disk: to a size (`40G`) or by one (`+10G`). The same size is no change; a smaller one fails."""
        given = {"disk": disk, "size": size, "digest": digest or None}
        return await self._calls.begin("PUT", _path(node, vmid, "resize"), given)

    async def start(self, node: str, vmid: int) -> Upid:
        """Power on. That it is on already, locked or not there, fails in the task."""
        return await self._power(node, vmid, "start")

    async def stop(self, node: str, vmid: int, *, overrule_shutdown: bool = False) -> Upid:
        """Power off at once; one that is off is left so. A shutdown that still runs is ended first if `overrule`."""
        return await self._power(node, vmid, "stop", {"overrule-shutdown": overrule_shutdown or None})

    async def shutdown(self, node: str, vmid: int, *, timeout: int = 60, force: bool = False) -> Upid:
        """Ask the guest to power off; after the timeout fail, or pull the plug (`force`)."""
        return await self._power(node, vmid, "shutdown", {"timeout": timeout, "forceStop": force or None})

    async def reset(self, node: str, vmid: int) -> Upid:
        """As by the button. Raises WrongState if it is off."""
        return await self._power(node, vmid, "reset")

    async def reboot(self, node: str, vmid: int, *, timeout: int = 60) -> Upid:
        """Ask the guest to restart; pending changes take effect."""
        return await self._power(node, vmid, "reboot", {"timeout": timeout})

    async def resume(self, node: str, vmid: int) -> Upid:
        """Let a paused one go on."""
        return await self._power(node, vmid, "resume")

    async def migrate(
        self, node: str, vmid: int, target: str, *, online: bool, with_local_disks: bool = False, storage: str = ""
    ) -> Upid:
        """Move to another host."""
        given: Parameters = {
            "target": target,
            "online": online or None,
            "with-local-disks": with_local_disks or None,
            "targetstorage": storage or None,
        }
        return await self._calls.begin("POST", _path(node, vmid, "migrate"), given)

    async def template(self, node: str, vmid: int) -> Upid:
        """Make a template of it, for ever."""
        return await self._calls.begin("POST", _path(node, vmid, "template"))

    async def destroy(self, node: str, vmid: int) -> Upid:
        """Remove it with the volumes that its configuration names and what other parts of PVE know of it (jobs, HA).

        The caller has compared the machine with what it should be on a fresh read, and looks for other volumes of its
        id itself: to find those, PVE would activate every storage of the host, after the machine's own disks are gone,
        and fail if one cannot be activated. Raises WrongState while the machine runs."""
        given = {"purge": True, "destroy-unreferenced-disks": False}
        return await self._calls.begin("DELETE", path_of("nodes", node, "qemu", vmid), given)

    async def regenerate_cloud_init(self, node: str, vmid: int) -> None:
        """Write the cloud-init drive anew."""
        await self._calls.put(_path(node, vmid, "cloudinit"))

    async def states(self, node: str) -> dict[int, str]:
        """How QEMU says that the machines of a host are, of all that may be seen there: running, paused, io-error, ...
        The list of all resources has paused ones as running."""
        rows = await self._calls.rows(path_of("nodes", node, "qemu"), {"full": True})
        return {int(row["vmid"]): str(row.get("qmpstatus") or "") for row in rows if "vmid" in row}

    async def snapshots(self, node: str, vmid: int) -> list[dict[str, Any]]:
        """Those there are; the last is the present (`current`)."""
        return await self._calls.rows(_path(node, vmid, "snapshot"))

    async def snapshot(self, node: str, vmid: int, name: str, *, description: str = "", memory: bool = False) -> Upid:
        """Take one."""
        given = {"snapname": name, "description": description or None, "vmstate": memory or None}
        return await self._calls.begin("POST", _path(node, vmid, "snapshot"), given)

    async def roll_back(self, node: str, vmid: int, name: str, *, start: bool = False) -> Upid:
        """Return to one."""
        return await self._calls.begin(
            "POST", _path(node, vmid, "snapshot", name, "rollback"), {"start": start or None}
        )

    async def delete_snapshot(self, node: str, vmid: int, name: str) -> Upid:
        """Remove one."""
        return await self._calls.begin("DELETE", _path(node, vmid, "snapshot", name))

    async def _power(self, node: str, vmid: int, what: str, given: Parameters | None = None) -> Upid:
        return await self._calls.begin("POST", _path(node, vmid, "status", what), given)


def _path(node: str, vmid: int, *parts: str) -> str:
    return path_of("nodes", node, "qemu", vmid, *parts)


def _options(options: Parameters) -> Mapping[str, Value]:
    keys = options.get("sshkeys")
    # PVE wants them escaped once more, and takes no + for a space.
    return {**options, "sshkeys": quote(keys, safe="")} if isinstance(keys, str) else options


def _change(options: Parameters, more: Change) -> dict[str, Value]:
    given: Parameters = {
        "delete": ",".join(more.get("delete", ())) or None,
        "force": more.get("with_volumes") or None,
        "digest": more.get("digest") or None,
    }
    return {**_options(options), **given}
