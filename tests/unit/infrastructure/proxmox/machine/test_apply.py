"""The calls for a step of a plan: what they leave in a guest."""

from __future__ import annotations

import base64
from types import SimpleNamespace
from typing import Any

import pytest

from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES
from nagaya.api.proxmox.proxmox_virtual_machine import NamespacedConnectionReference
from nagaya.infrastructure.proxmox.boot.native import SEED
from nagaya.infrastructure.proxmox.boot.network import Network, Nic
from nagaya.infrastructure.proxmox.machine.apply import UnusableBootData, carry_out
from nagaya.infrastructure.proxmox.machine.seen import Objects, Seen
from nagaya.infrastructure.proxmox.machine.steps import HandOver
from nagaya.infrastructure.proxmox.virtual_machine.link import Link
from nagaya.kube.tenant_secrets import TENANT_SECRETS
from support.builders import NAMESPACE, NOW
from support.builders import machine as machine_draft
from support.kube import FakeServer
from support.virtual_run import run
from unit.infrastructure.proxmox.machine.booted import NODE, VMID, Booted, booted

NETWORK = Network((Nic("net0", "BC:24:11:00:00:01", dhcp4=True),))
CLOUD_CONFIG = b"#cloud-config\n{}\n"
IGNITION = b'{"ignition": {"version": "3.4.0"}}'


async def handed_over(vm: Booted, data: bytes, **more: bytes) -> None:
    """Give a guest the boot data that a Secret has, by its agent."""
    server, world = FakeServer(), vm.proxmox.calls.world
    content = {name: base64.b64encode(value).decode() for name, value in {"value": data, **more}.items()}
    server.put(TENANT_SECRETS.path().strip("/"), NAMESPACE, "boot", data=content)
    client = server.client(world)
    metadata = {"namespace": NAMESPACE, "name": "a", "uid": "u-1"}
    machine = PROXMOX_MACHINES.convert({"metadata": metadata, "spec": {"virtualMachineID": VMID}})
    owner = machine_draft("a").having(spec={"bootstrap": {"dataSecretName": "boot"}}).made()
    seen = Seen(Objects(machine, owner, None, None, None), NOW, found=vm.found)
    link = Link(vm.proxmox, "demo", NamespacedConnectionReference(namespace=NAMESPACE, name="c"))
    rt: Any = SimpleNamespace(client=client, world=world)
    try:
        await carry_out(rt, rt, seen, link, HandOver(NODE, NETWORK), set())
    finally:
        await client.close()


def test_boot_data_are_handed_over_by_the_agent() -> None:
    async def main() -> None:
        async with booted() as vm:
            await handed_over(vm, CLOUD_CONFIG, format=b"cloud-config")
            assert vm.files[f"{SEED}/user-data"] == CLOUD_CONFIG
            assert b"local-hostname: a\n" in vm.files[f"{SEED}/meta-data"]

    run(main())


def test_boot_data_for_ignition_are_not_handed_over_by_the_agent_and_the_way_that_works_is_told() -> None:
    async def main() -> None:
        async with booted() as vm:
            before = dict(vm.files)
            with pytest.raises(UnusableBootData, match=r"Secret boot has boot data for Ignition.* to iso"):
                await handed_over(vm, IGNITION, format=b"ignition")
            assert vm.files == before

    run(main())
