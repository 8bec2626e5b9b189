"""The whole product in one process, with a provider whose machines are namespaces of this computer.

A Cluster with a hosted control plane gets Machines there that really boot and join; nothing is simulated but hardware.
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from nagaya.api.admission.catalog import ADMISSION
from nagaya.api.catalog import PARTS
from nagaya.apiserver.server import ApiServer, Config
from nagaya.binaries.installer import Binaries
from nagaya.cli.in_process import InProcessTransport
from nagaya.cli.plane import Plane, install
from nagaya.controlplane.hosted.host.settings import HostSettings
from nagaya.kube.client import Client
from nagaya.kube.http import HttpTransport
from nagaya.kube.tenant_secrets import TENANT_SECRETS, VALUE
from nagaya.simulators.netns.host import NetnsHost
from nagaya.world import World
from support.lab import KINDS, Lab, holds
from support.netns_provider import NETNS_CLUSTERS, NETNS_MACHINES, NetnsProvider
from support.ports import free_range
from support.tenant_kubectl import TenantKubectl

PATIENCE = 240.0
HOSTING_PARTS = ("core", "bootstrap-kubeadm", "controlplane-hosted")
TEST_KINDS = {each.kind: each for each in (NETNS_CLUSTERS, NETNS_MACHINES)}


@contextlib.asynccontextmanager
async def management(folder: Path, host: NetnsHost) -> AsyncIterator[Lab]:
    """Nagaya in one process, and a provider of machines beside it."""
    world = World()
    server = await ApiServer.start(Config(rules=ADMISSION), world)
    try:
        client = Client(InProcessTransport(server), world=world, field_manager="test")
        await install(client, PARTS)
        async with NetnsProvider(InProcessTransport(server), world, host):
            lab = Lab(lambda: InProcessTransport(server), world, "default", HOSTING_PARTS, real=True)
            lab.client = client
            lab.plane = Plane(
                InProcessTransport(server),
                world,
                lambda tenant: HttpTransport(tenant, world=world),
                parts=HOSTING_PARTS,
                hosting=HostSettings(folder, str(host.gateway), local_ports=free_range(), stop_with_us=True),
            )
            await lab.plane.start()
            try:
                yield lab
            finally:
                await lab.stop()
    finally:
        await server.stop()


async def create(lab: Lab, *manifests: dict[str, Any]) -> None:
    for content in manifests:
        await lab.client.create(TEST_KINDS.get(content["kind"]) or KINDS[content["kind"]], content)


async def administrator(lab: Lab, cluster: str, binaries: Binaries, folder: Path) -> TenantKubectl:
    """kubectl with the kubeconfig that Nagaya made."""

    async def initialized() -> bool:
        found = await lab.get("Cluster", cluster)
        return bool(found.status.initialization.control_plane_initialized)

    await lab.until("the control plane is initialized", initialized, PATIENCE)
    secret = await lab.client.get(TENANT_SECRETS, lab.namespace, f"{cluster}-kubeconfig")
    kubeconfig = folder / "kubeconfig"
    kubeconfig.touch(0o600)
    kubeconfig.write_bytes(base64.b64decode(secret.data[VALUE]))
    return TenantKubectl(binaries.path("kubectl"), kubeconfig)


async def available(lab: Lab, host: NetnsHost, name: str) -> Any:
    """Wait until a Machine is Available; if that is in vain, its logs are told."""

    async def look() -> Any:
        machine = await lab.get("Machine", name)
        return machine if holds(machine, "Available") else None

    try:
        return await lab.until(f"Machine {name} is Available", look, PATIENCE)
    except AssertionError as error:
        found = host.machines.get(name)
        names = () if found is None else ("containerd", "cloud-init", "runcmd", "kubelet")
        raise AssertionError("\n".join((str(error), *(found.log(name)[-3000:] for name in names)))) from None


def running_with(text: str) -> list[str]:
    """The command lines of processes that mention something."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            found.append((process / "cmdline").read_text(errors="replace").replace("\0", " "))
    return [each for each in found if text in each]
