"""The watchman sees what must never be, however short it lasts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nagaya.api.ipam.ip_address import IP_ADDRESSES
from nagaya.infrastructure.proxmox.client import Endpoint, Trust
from nagaya.infrastructure.proxmox.client.transport import Request
from nagaya.kube.patches import Merge
from support.lab import KINDS
from support.plane import fast_loop
from support.plane.scene import Scene, scene
from support.plane.wish import IPAM, NAMESPACE
from support.proxmox_town_layout import STRANGERS, TOKEN, secret
from support.proxmox_transport import ToEmulator

CONTROL_PLANE = {"cluster.x-k8s.io/control-plane": "", "cluster.x-k8s.io/cluster-name": "amber"}
INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io"


def seen(play: Callable[[Scene], Awaitable[None]]) -> list[str]:
    """What the watchman has to say of something."""

    async def main() -> list[str]:
        async with scene(1) as here:
            await play(here)
            here.watchman.look()
            return here.watchman.problems

    return fast_loop.run(main())


def test_an_address_that_two_have_for_a_moment() -> None:
    async def play(here: Scene) -> None:
        await here.client.create(IP_ADDRESSES, _address("first", "10.0.0.20"))
        await here.client.create(IP_ADDRESSES, _address("second", "10.0.0.20"))
        await here.client.delete(IP_ADDRESSES, NAMESPACE, "second")

    assert seen(play) == ["address 10.0.0.20 was given to default/first and to default/second"]


def test_an_address_that_is_given_again_when_it_is_free_is_well() -> None:
    async def play(here: Scene) -> None:
        await here.client.create(IP_ADDRESSES, _address("first", "10.0.0.20"))
        await here.client.delete(IP_ADDRESSES, NAMESPACE, "first")
        await here.client.create(IP_ADDRESSES, _address("second", "10.0.0.20"))

    assert seen(play) == []


def test_two_machines_of_a_control_plane_that_come_at_the_same_time() -> None:
    async def play(here: Scene) -> None:
        for name in ("amber-aaaaa", "amber-bbbbb"):
            await here.create(_machine(name))

    assert seen(play) == ["control plane machines default/amber-aaaaa, default/amber-bbbbb come or go at the same time"]


def test_machines_of_a_control_plane_that_come_one_after_the_other_are_well() -> None:
    async def play(here: Scene) -> None:
        await here.create(_machine("amber-aaaaa"))
        status = {"status": {"nodeRef": {"name": "amber-aaaaa"}}}
        await here.client.patch(KINDS["Machine"], NAMESPACE, "amber-aaaaa", Merge(status), subresource="status")
        await here.create(_machine("amber-bbbbb"))

    assert seen(play) == []


def test_a_vm_of_somebody_else_that_we_would_change() -> None:
    async def play(here: Scene) -> None:
        await _ask(here, "POST", f"/nodes/pve1/qemu/{STRANGERS[0]}/status/stop")

    assert seen(play) == [f"POST /nodes/pve1/qemu/{STRANGERS[0]}/status/stop changes what is not ours"]


def test_an_image_of_somebody_else_that_we_would_remove() -> None:
    async def play(here: Scene) -> None:
        await _ask(here, "DELETE", "/nodes/pve1/storage/local/content/local:iso/debian.iso")

    assert seen(play) == ["DELETE /nodes/pve1/storage/local/content/local:iso/debian.iso removes what is not ours"]


async def _ask(here: Scene, method: str, path: str) -> None:
    headers = {"authorization": f"PVEAPIToken={TOKEN}={secret(here.datacenter)}"}
    await ToEmulator(here.emulator).send(
        Endpoint("pve1"), Trust(), Request(method, f"/api2/json{path}", headers=headers)
    )


def _address(name: str, address: str) -> dict[str, Any]:
    spec = {
        "address": address,
        "prefix": 24,
        "claimRef": {"name": name},
        "poolRef": {"apiGroup": IPAM, "kind": "InClusterIPPool", "name": "pool"},
    }
    return {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}


def _machine(name: str) -> dict[str, Any]:
    spec = {
        "clusterName": "amber",
        "bootstrap": {"dataSecretName": "boot"},
        "infrastructureRef": {"apiGroup": INFRASTRUCTURE, "kind": "ProxmoxMachine", "name": name},
    }
    metadata = {"name": name, "namespace": NAMESPACE, "labels": CONTROL_PLANE}
    return {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": metadata, "spec": spec}
