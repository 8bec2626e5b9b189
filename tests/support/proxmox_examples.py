"""The examples for Proxmox VE, applied as a user would, by kubectl, where machines boot as Nodes of simulated clusters.

The management API, all controllers and the data center are in this process, on the clock; kubectl is not. Of a file
only that is replaced which its own comments tell a user to change, and only as far as the data center needs it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
import sys
import textwrap
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import yaml

from nagaya.api.admission.catalog import ADMISSION
from nagaya.api.catalog import PARTS
from nagaya.api.conversion.proxmox.in_process import IN_PROCESS
from nagaya.apiserver.server import ApiServer, Config
from nagaya.cli.in_process import InProcessTransport
from nagaya.cli.plane import install
from nagaya.kube.client import Client
from nagaya.pki import kubeconfig as kubeconfigs
from nagaya.pki.authority import CertificateAuthority
from nagaya.simulators.proxmox.guests.tenants import TenantGuests
from nagaya.simulators.proxmox.layouts.demo import secret as root_secret
from nagaya.simulators.proxmox.pace import Pace
from nagaya.world import World
from support.proxmox_town import Town, assembled
from support.proxmox_town_layout import TOKEN, foreign, secret
from support.proxmox_town_manifests import Shop

EXAMPLES = Path(__file__).parents[2] / "examples"
HOSTS = 4
TIMEOUT = 240
"""Seconds that kubectl may take for anything."""
QUICK = Pace(
    task=0.05, linked_clone=0.1, full_clone_per_gib=0.01, start=0.1, stop=0.1, shutdown=0.2, boot=0.4, destroy=0.1,
    broadcast=1.0,
)  # fmt: skip
_CAPMOX = "capmox@pve!capi"
_NOBODY = "00000000-0000-0000-0000-000000000000"
_CERTIFICATE = "-----BEGIN CERTIFICATE-----\n    -----END CERTIFICATE-----\n"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a program has printed, and how it ended."""

    code: int
    output: str
    errors: str


@dataclass(slots=True)
class Desk:
    """A user with kubectl, and what there is behind it."""

    town: Town
    folder: Path
    kubeconfig: Path

    async def kubectl(self, *words: str, text: str = "") -> str:
        """Run kubectl; fails with its own words if it does."""
        done = await self.try_kubectl(*words, text=text)
        assert done.code == 0, f"kubectl {' '.join(words)}: {done.errors}{done.output}\n{await self.town.story()}"
        return done.output

    async def try_kubectl(self, *words: str, text: str = "") -> Outcome:
        """Run kubectl, whatever comes of it."""
        program = Path(sys.prefix) / "bin" / "kubectl"
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "KUBECONFIG": str(self.kubeconfig)}
        process = await asyncio.create_subprocess_exec(
            program, *words, env=environment, stdin=PIPE, stdout=PIPE, stderr=PIPE
        )  # fmt: skip
        try:
            async with asyncio.timeout(TIMEOUT + 20):
                output, errors = await process.communicate(text.encode())
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode is not None
        return Outcome(process.returncode, output.decode(), errors.decode())

    async def object(self, *words: str) -> dict[str, Any]:
        """An object, or a list of them."""
        found: dict[str, Any] = orjson.loads(await self.kubectl("get", *words, "-o", "json"))
        return found

    def example(self, name: str) -> str:
        """A file, with what a user is told to change."""
        text = (EXAMPLES / name).read_text()
        told = re.search(r"^# Change: .*", text, re.MULTILINE) is not None
        authority = CertificateAuthority.create("PVE Cluster Manager CA", self.town.world.clock).certificate_pem
        datacenter = self.town.datacenter
        # One for CAPMOX has rights on all machines.
        token = ("root@pam!demo", root_secret(datacenter)) if _CAPMOX in text else (TOKEN, secret(datacenter))
        for old, new in (
            ("https://pve1.example:8006", "https://pve1:8006"),
            (_CAPMOX, token[0]),
            ("nagaya@pve!nagaya", token[0]),
            (_NOBODY, token[1]),
            (_CERTIFICATE, textwrap.indent(authority.decode(), "    ").lstrip()),
        ):
            assert told or old not in text, f"{name} does not tell to change {old}"
            text = text.replace(old, new)
        return text

    async def apply(self, name: str) -> list[dict[str, Any]]:
        """Apply a file; returns the objects in it."""
        text = self.example(name)
        await self.kubectl("apply", "-f", "-", text=text)
        return [*yaml.safe_load_all(text)]

    async def delete(self, name: str) -> None:
        """Delete what is in a file, and wait until it is gone."""
        await self.kubectl("delete", "--ignore-not-found", "-f", "-", f"--timeout={TIMEOUT}s", text=self.example(name))

    async def available(self, cluster: str, control_planes: int, workers: int) -> None:
        """Wait until a cluster has all its machines, and they are well."""
        for what in (
            "condition=Available",
            f"jsonpath={{.status.controlPlane.availableReplicas}}={control_planes}",
            f"jsonpath={{.status.workers.availableReplicas}}={workers}",
        ):
            await self.kubectl("wait", f"--for={what}", f"cluster/{cluster}", f"--timeout={TIMEOUT}s")

    def machines(self) -> dict[str, str]:
        """The hosts of the VMs that somebody has made since, by their names."""
        return {
            str(guest.config["name"]): guest.node
            for guest in self.town.datacenter.guests.values()
            if not guest.template and not str(guest.config["name"]).startswith("stranger-")
        }

    def things(self) -> dict[str, list[str]]:
        """All there is in the data center that clusters can leave behind."""
        datacenter = self.town.datacenter
        return {
            "machines": sorted(map(str, datacenter.guests)),
            "volumes": sorted(f"{node} {name}" for node, name in datacenter.volumes),
            "HA resources": sorted(datacenter.ha.resources),
            "in pools": sorted(str(vmid) for pool in datacenter.pools.values() for vmid in pool.vms),
            "of others": foreign(datacenter).splitlines(),
        }


@contextlib.asynccontextmanager
async def desk(folder: Path) -> AsyncIterator[Desk]:
    """A management API with all controllers, and a data center of four hosts that has what the examples name."""
    world = World(random=random.Random(1))
    server = await ApiServer.start(Config(rules=ADMISSION, versions=IN_PROCESS), world)
    try:
        client = Client(InProcessTransport(server), world=world, field_manager="test")
        await install(client, PARTS)
        await client.close()
        await server.listen()
        kubeconfig = folder / "kubeconfig"
        kubeconfigs.write(server.kubeconfig(), kubeconfig)
        async with assembled(world, lambda: InProcessTransport(server), Shop(), hosts=HOSTS) as town:
            _equip(town)
            await town.start()
            yield Desk(town, folder, kubeconfig)
    finally:
        await server.stop()


def _equip(town: Town) -> None:
    """Give the data center what the examples name and other tests do without, and haste: this is on the clock."""
    town.real = True
    town.emulator.pace = QUICK
    town.emulator.machines.backend = TenantGuests(town.world, QUICK, town.clusters)
    for node in town.datacenter.nodes.values():
        node.bridges.append("vmbr1")
    town.control.add_storage("ceph", "rbd", {"pool": "vms", "content": "images"}, capacity=2 << 40)
    town.untouched = foreign(town.datacenter)
