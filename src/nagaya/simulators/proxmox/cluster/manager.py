"""The HA manager: keeps machines in the state that was asked for, and moves them away from hosts that died.

It goes round every ten seconds and does one thing per machine and round, as PVE's does, so that a wish is `queued` for
a while, then on its way, then fulfilled. A host that is off for a minute is fenced; when its lock has run out, two
minutes after it went off, its machines are recovered: their files are given to other hosts, and they are started there.
Without quorum nothing happens. A data center without the manager (its hosts do not run it) just keeps the wishes.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from nagaya.simulators.proxmox.access.rights import ROOT
from nagaya.simulators.proxmox.cluster import hosts
from nagaya.simulators.proxmox.cluster.placement import candidates, number_of
from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.qemu.actions.migrating import Migration, Wish
from nagaya.simulators.proxmox.qemu.actions.starting import start
from nagaya.simulators.proxmox.qemu.actions.stopping import stop
from nagaya.simulators.proxmox.state.guest import Guest
from nagaya.simulators.proxmox.state.node import Unreachable
from nagaya.simulators.proxmox.tasks.runner import Task, Work

if TYPE_CHECKING:
    from nagaya.simulators.proxmox.emulator import Emulator

Resource = dict[str, Any]
ROUND = 10.0
FENCE_DELAY = 60.0
LOCK_LIFE = 120.0
SHUTDOWN_TIMEOUT = 60
RUN = frozenset({"started", "enabled"})


class HighAvailabilityManager:
    """The manager of one data center. What it thinks of a resource stands with it as `crm`."""

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self._datacenter = emulator.datacenter
        self._off_since: dict[str, float] = {}
        self._work: dict[str, Task] = {}
        self._failures: dict[str, int] = {}
        self._relocations: dict[str, int] = {}
        self._patience: dict[str, int] = {}
        """How long a machine that was ordered to stop may take, by its resource; with none, the plug is pulled."""
        self._running: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Go round from now on."""
        if self._running is None:
            self._running = asyncio.get_running_loop().create_task(self._go_round())

    async def close(self) -> None:
        """Stop going round."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
            self._running = None

    async def _go_round(self) -> None:
        while True:
            await asyncio.sleep(ROUND)
            self.round()

    def round(self) -> None:
        """Look at everything once."""
        now = self._emulator.world.clock.monotonic()
        for node in self._datacenter.nodes.values():
            if node.online:
                self._off_since.pop(node.name, None)
            else:
                self._off_since.setdefault(node.name, now)
        self._watchdogs(now)
        if not self._datacenter.quorate:
            return
        for sid, resource in list(self._datacenter.ha.resources.items()):
            guest = self._datacenter.guests.get(number_of(sid))
            if guest is None or resource.get("state") == "ignored":
                resource.pop("crm", None)
                continue
            self._look_after(sid, resource, guest, now)

    def _watchdogs(self, now: float) -> None:
        """A host that is only cut off and has machines of the manager resets itself."""
        for name, since in self._off_since.items():
            node = self._datacenter.nodes[name]
            if node.unreachable is not Unreachable.SILENT or now - since < FENCE_DELAY:
                continue
            if any(self._here(sid, name) and resource.get("crm") for sid, resource in self._resources()):
                hosts.power_off(self._emulator, name, node.unreachable)

    def _resources(self) -> list[tuple[str, Resource]]:
        return list(self._datacenter.ha.resources.items())

    def _here(self, sid: str, node: str) -> bool:
        guest = self._datacenter.guests.get(number_of(sid))
        return guest is not None and guest.node == node

    def _look_after(self, sid: str, resource: Resource, guest: Guest, now: float) -> None:
        since = self._off_since.get(guest.node)
        if since is not None:
            self._lost(sid, resource, guest, now - since)
            return
        self._take_stop(sid, resource)
        wanted = resource.get("state", "started")
        state = resource.get("crm")
        if state == "error":
            if wanted == "disabled":
                self._forgive(sid)
                resource["crm"] = "stopped"
            return
        if self._busy(sid):
            return
        if state in (None, "fence", "recovery", "freeze"):
            resource["crm"] = "request_start" if wanted in RUN else "request_stop"
        elif target := resource.pop("migrate", None):
            self._move(sid, resource, guest, target)
        elif wanted in RUN:
            self._keep_running(sid, resource, guest)
        else:
            self._keep_stopped(sid, resource, guest)

    def _take_stop(self, sid: str, resource: Resource) -> None:
        """An order to stop becomes the state that is declared, unless the machine has been stopped already."""
        patience = resource.pop("stop", None)
        if patience is not None and resource.get("crm") != "stopped":
            resource["state"] = "stopped"
            self._patience[sid] = int(patience)

    def _keep_running(self, sid: str, resource: Resource, guest: Guest) -> None:
        ended = self._work.pop(sid, None)
        if guest.running:
            self._forgive(sid)
            resource["crm"] = "started"
            self._fail_back(sid, resource, guest)
            return
        if resource.get("crm") != "started":
            resource["crm"] = "started"
        if ended is not None and ended.upid.type == "qmstart" and ended.exitstatus != "OK":
            self._failures[sid] = self._failures.get(sid, 0) + 1
            if self._failures[sid] > int(resource.get("max_restart", 1)):
                self._start_elsewhere(sid, resource, guest)
                return
        self._run(sid, guest, "qmstart", partial(start, Host(self._emulator, guest.node), guest.vmid))

    def _start_elsewhere(self, sid: str, resource: Resource, guest: Guest) -> None:
        others = [host for host in candidates(self._datacenter, sid) if host != guest.node]
        if self._relocations.get(sid, 0) >= int(resource.get("max_relocate", 1)) or not others:
            resource["crm"] = "error"
            return
        self._relocations[sid] = self._relocations.get(sid, 0) + 1
        self._failures[sid] = 0
        self._move(sid, resource, guest, others[0])

    def _keep_stopped(self, sid: str, resource: Resource, guest: Guest) -> None:
        self._work.pop(sid, None)
        if not guest.running:
            self._forgive(sid)
            resource["crm"] = "stopped"
            return
        resource["crm"] = "request_stop"
        host, patience = Host(self._emulator, guest.node), self._patience.get(sid, SHUTDOWN_TIMEOUT)
        self._run(
            sid,
            guest,
            "qmshutdown" if patience else "qmstop",
            lambda task: stop(host, guest.vmid, task, timeout=patience or None, shutdown=bool(patience), force=True),
        )

    def _fail_back(self, sid: str, resource: Resource, guest: Guest) -> None:
        """Back to where the rules want it, as soon as that is possible."""
        allowed = candidates(self._datacenter, sid)
        if allowed and guest.node not in allowed and resource.get("failback", 1):
            self._move(sid, resource, guest, allowed[0])

    def _move(self, sid: str, resource: Resource, guest: Guest, target: str) -> None:
        if target == guest.node or target not in self._datacenter.nodes:
            return
        resource["crm"] = "migrate" if guest.running else "relocate"
        migration = Wish(target=target, online=guest.running)
        host = Host(self._emulator, guest.node)
        self._run(sid, guest, "qmigrate", lambda task: Migration(host, guest.vmid, migration, task).run())

    def _lost(self, sid: str, resource: Resource, guest: Guest, seconds: float) -> None:
        """Its host is off."""
        if resource.get("crm") is None or seconds < FENCE_DELAY:
            return
        self._work.pop(sid, None)
        resource["crm"] = "fence"
        if seconds < LOCK_LIFE:
            return
        resource["crm"] = "recovery"
        found = candidates(self._datacenter, sid)
        if found:
            guest.config.pop("lock", None)
            guest.node = found[0]
            self._forgive(sid)
            resource["crm"] = "started" if resource.get("state", "started") in RUN else "request_stop"

    def _run(self, sid: str, guest: Guest, kind: str, work: Work) -> None:
        self._work[sid] = self._emulator.tasks.start(guest.node, kind, str(guest.vmid), ROOT, work)

    def _busy(self, sid: str) -> bool:
        task = self._work.get(sid)
        return task is not None and task.running

    def _forgive(self, sid: str) -> None:
        self._failures.pop(sid, None)
        self._relocations.pop(sid, None)
        self._patience.pop(sid, None)
