"""Nagaya as users run it, beside an emulated Proxmox VE whose machines are real.

`nagaya up`, `nagaya controllers`, `nagaya proxmox connect` and kubectl are processes of their own, and reach the hosts
of the data center over HTTPS. Only the data center itself is in the process of the test, and its machines with it:
each is a set of namespaces of this computer that boots what its drive holds. Leaving the context ends all of it.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from nagaya.binaries.installer import Binaries
from nagaya.simulators.netns.host import NetnsHost
from nagaya.simulators.proxmox.emulator import Emulator
from nagaya.simulators.proxmox.guests.namespaces import NamespaceGuests
from nagaya.simulators.proxmox.layouts.demo import FIRST_TEMPLATE, PASSWORD, demo
from nagaya.simulators.proxmox.pace import Pace
from nagaya.simulators.proxmox.state.datacenter import Datacenter
from nagaya.simulators.proxmox.state.guest import Guest
from nagaya.simulators.proxmox.web.web import Web, served
from nagaya.world import World
from support.controllers_process import RUNNING
from support.hosting import end_tenants, tenant_ports
from support.netns_leftovers import leftovers
from support.real_processes import Processes
from support.running_server import NAGAYA, RunningServer
from support.tenant_kubectl import TenantKubectl

T = TypeVar("T")
HOSTS = 2
PATIENCE = 120.0
PACE = Pace(full_clone_per_gib=0.05)
"""Disks of which nothing is ever read are copied in no time."""
CONNECTION = "lab"
PARTS = "core,bootstrap-kubeadm,controlplane-hosted,ipam,infrastructure-proxmox"
IP_ADDRESSES = "ipaddresses.ipam.cluster.x-k8s.io"
"""Kubernetes has a kind of the same name."""
STORY = (
    "clusters,hostedcontrolplanes,machinedeployments,machinesets,machines,kubeadmconfigs,"
    "proxmoxconnections,proxmoxclusters,proxmoxmachines,proxmoxvirtualmachines,ipaddressclaims"
)
OF_CLUSTERS = f"{STORY},inclusterippools,{IP_ADDRESSES}".replace("proxmoxconnections,", "")
"""All kinds of which nothing is left when the only cluster is gone, as kubectl calls them."""
_LOOK = 0.25
_LOGS = ("machine", "cloud-init", "runcmd", "kubelet")


@dataclass(slots=True)
class Site:
    """What a test acts on."""

    host: NetnsHost
    emulator: Emulator
    guests: NamespaceGuests
    web: Web
    server: RunningServer
    processes: Processes
    binaries: Binaries
    untouched: frozenset[str]
    """The volumes that were there before Nagaya was."""

    @property
    def datacenter(self) -> Datacenter:
        return self.emulator.datacenter

    @property
    def virtual_machines(self) -> dict[str, Guest]:
        """The VMs that are no templates, by their names."""
        return {str(each.config["name"]): each for each in self.datacenter.guests.values() if not each.template}

    @property
    def kubectl(self) -> TenantKubectl:
        """kubectl of the administrator of the management API."""
        return TenantKubectl(self.binaries.path("kubectl"), self.server.kubeconfig)

    async def connect(self, *options: str) -> str:
        """A user runs `nagaya proxmox connect`. Returns what it says."""
        authority, password = self.processes.folder / "pve-root-ca.pem", self.processes.folder / "password"
        assert self.datacenter.authority is not None
        authority.write_text(self.datacenter.authority)
        password.touch(0o600)
        password.write_text(f"{PASSWORD}\n")
        templates = [f"--template={FIRST_TEMPLATE + number}" for number in range(HOSTS)]
        return await _said(
            [NAGAYA, "proxmox", "connect", *self.web.endpoints.values(), f"--name={CONNECTION}", "--yes",
             f"--kubeconfig={self.server.kubeconfig}", f"--ca-file={authority}", f"--password-file={password}",
             "--storage=local-lvm", "--iso-storage=local", "--bridge=vmbr0", *templates, *options],
        )  # fmt: skip

    async def apply(self, manifests: Sequence[dict[str, Any]]) -> None:
        """A user declares objects."""
        path = self.processes.folder / "objects.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests}))
        await self.kubectl("apply", "-f", str(path))

    async def get(self, kind: str, name: str = "") -> Any:
        """An object as the server has it, or all of a kind."""
        found = json.loads(await self.kubectl("get", kind, *([name] if name else []), "-o", "json"))
        return found if name else found["items"]

    async def until(self, what: str, check: Callable[[], Awaitable[T]]) -> T:
        """Wait until a check returns something true, and return that; in vain, it is told how far everything came."""
        loop = asyncio.get_running_loop()
        end = loop.time() + PATIENCE
        while not (found := await check()):
            if loop.time() > end:
                raise AssertionError(f"after {PATIENCE:g} s not yet: {what}\n{await self._story()}")
            await asyncio.sleep(_LOOK)
        return found

    async def tenant(self, cluster: str) -> TenantKubectl:
        """kubectl with the kubeconfig of a cluster whose control plane is there."""

        async def initialized() -> bool:
            status = (await self.get("cluster", cluster)).get("status", {})
            return bool(status.get("initialization", {}).get("controlPlaneInitialized"))

        await self.until("the control plane is initialized", initialized)
        encoded = await self.kubectl("get", "secret", f"{cluster}-kubeconfig", "-o", "jsonpath={.data.value}")
        kubeconfig = self.processes.folder / f"{cluster}.kubeconfig"
        kubeconfig.touch(0o600)
        kubeconfig.write_bytes(base64.b64decode(encoded))
        return TenantKubectl(self.binaries.path("kubectl"), kubeconfig)

    async def running(self, count: int) -> list[dict[str, Any]]:
        """Wait until there are exactly so many Machines, all of them Running and Available."""

        async def all_run() -> list[dict[str, Any]]:
            found = await self.get("machines")
            well = [each for each in found if holds(each, "Available") and each["status"]["phase"] == "Running"]
            return well if len(well) == len(found) == count else []

        return await self.until(f"{count} Machines run", all_run)

    async def all_went_well(self) -> None:
        """Nobody was warned of anything, and Proxmox VE failed at nothing."""
        warnings = json.loads(await self.kubectl("get", "events", "--field-selector=type=Warning", "-o", "json"))
        assert [f"{each['involvedObject']['kind']}: {each['message']}" for each in warnings["items"]] == []
        tasks = self.emulator.tasks.known
        assert {str(upid): task.exitstatus for upid, task in tasks.items() if task.exitstatus not in (None, "OK")} == {}

    async def nothing_of_clusters(self) -> None:
        """Wait until no object of a cluster is left, nor anything that was made for one."""

        async def gone() -> bool:
            secrets = [each["metadata"]["name"] for each in await self.get("secrets")]
            return secrets == [CONNECTION] and not await self.get(OF_CLUSTERS)

        await self.until("no object is left", gone)
        await self.guests.quiet()
        datacenter = self.datacenter
        assert not self.virtual_machines
        assert {each.id for each in datacenter.volumes.values()} == self.untouched
        assert {vmid for pool in datacenter.pools.values() for vmid in pool.vms} <= set(datacenter.guests)
        assert not self.host.machines
        assert _of_machines(self.host) == []

    async def _story(self) -> str:
        lines = []
        for obj in await self.get(STORY):
            status = obj.get("status", {})
            lines.append(f"{obj['kind']}/{obj['metadata']['name']} {status.get('phase', '')}")
            lines += [
                f"    {each['type']}={each['status']} {each['reason']}: {each['message']}"
                for each in status.get("conditions", ())
                if each.get("message") or each["status"] == "Unknown"
            ]
        for box in self.host.machines.values():
            lines += [f"--- {each} of {box.name}:\n{box.log(each)[-3000:]}" for each in _LOGS]
        return "\n".join([*lines, self.processes.tails()])


def holds(obj: dict[str, Any], condition: str) -> bool:
    """Whether a condition of an object is True."""
    found = obj.get("status", {}).get("conditions", ())
    return any((each["type"], each["status"]) == (condition, "True") for each in found)


@asynccontextmanager
async def site(folder: Path, binaries: Binaries, packages: Path | None) -> AsyncIterator[Site]:
    """All of it, without a connection yet, and without a cluster."""
    programs = [binaries.path(name) for name in ("kubelet", "kubeadm", "kubectl")]
    world = World()
    processes = Processes("nagaya-proxmox-")
    try:
        async with NetnsHost(folder, programs=programs, packages=packages) as host:
            emulator = Emulator(world, demo(world, hosts=HOSTS, kubernetes=binaries.release.kubernetes), PACE)
            emulator.machines.backend = guests = NamespaceGuests(host)
            try:
                async with served(emulator) as web:
                    with RunningServer() as server:
                        await _start_controllers(processes, server, str(host.gateway))
                        volumes = frozenset(each.id for each in emulator.datacenter.volumes.values())
                        yield Site(host, emulator, guests, web, server, processes, binaries, volumes)
            finally:
                processes.end_all()
                end_tenants(processes.folder / "hosted")
                await emulator.close()
    finally:
        processes.close()


async def _start_controllers(processes: Processes, server: RunningServer, address: str) -> None:
    ports = tenant_ports()
    processes.start(
        "controllers",
        [NAGAYA, "controllers", f"--kubeconfig={server.kubeconfig}", f"--only={PARTS}", "--install-crds", "-v",
         f"--tenants-dir={processes.folder / 'hosted'}", f"--tenants-address={address}",
         f"--tenants-ports={ports.start}-{ports.stop - 1}"],
    )  # fmt: skip
    async with asyncio.timeout(PATIENCE):
        while not re.search(RUNNING, processes.log("controllers").read_text(errors="replace")):
            assert processes.ended() is None, processes.tails()
            await asyncio.sleep(_LOOK)


async def _said(command: Sequence[str | os.PathLike[str]]) -> str:
    """What a program says to its end; fails the test, with its own words, if it fails."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(PATIENCE):
            said, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, said.decode()
    return said.decode()


def _of_machines(host: NetnsHost) -> list[str]:
    """What is left of machines while their host goes on, which has a bridge and folders for control groups."""
    everything = leftovers(host)
    groups = [each for each in everything if each.startswith("/sys/fs/cgroup")]
    bridge = [each for each in everything if each.startswith("ngy") and "." not in each]
    found = [each for each in everything if each not in groups and each not in bridge]
    return found + [str(each) for group in groups for each in Path(group).iterdir() if each.is_dir()]
