"""Images and what is made from them: machines of clusters, and objects of the management API that need them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nagaya.infrastructure.proxmox.image.apply import Run
from nagaya.infrastructure.proxmox.image.checksum import checksum
from nagaya.infrastructure.proxmox.image.image import Image
from nagaya.infrastructure.proxmox.image.manifests import manifests, selector
from nagaya.infrastructure.proxmox.image.marker import marker_of
from nagaya.infrastructure.proxmox.image.observe import observe
from nagaya.infrastructure.proxmox.image.removal import removal
from nagaya.infrastructure.proxmox.image.seen import Seen, Template
from nagaya.infrastructure.proxmox.image.users import Unaware, reserved, users
from nagaya.infrastructure.proxmox.image.wanted import Wanted
from nagaya.infrastructure.proxmox.image.way import NoWay, by_connection
from nagaya.simulators.proxmox.storages.sources import Source
from support.proxmox_plane import GROUP, NAMESPACE, ProxmoxPlane, connection, credentials
from support.proxmox_plane import play as play_plane
from support.proxmox_yard import DEFINITIONS, Yard
from support.proxmox_yard import play as play_yard

URL = "https://images.example/debian-13.qcow2"
IMAGE = Image("debian-13", URL, checksum("ab" * 64))
BAKED = replace(IMAGE, kubernetes="v1.36.3")


@pytest.mark.parametrize("image", [IMAGE, BAKED], ids=["plain", "baked"])
def test_capmox_525_cappx_18_machines_are_made_from_an_image_by_the_selector_that_is_printed(image: Image) -> None:
    async def scenario(yard: Yard) -> None:
        client = yard.there.client
        yard.control.add_source(URL, Source(size=1 << 30, checksums={"sha512": "ab" * 64}, system="debian"))
        wanted = Wanted(image, "local-lvm", "local", pool="nagaya")
        job = Run(client, wanted, lambda *_: None)
        result = await job.apply(await job.plan())
        assert result.complete, result
        await yard.cluster()
        chosen = selector(image.origin, kubernetes=bool(image.kubernetes))
        for name in ("a", "b", "c"):
            await yard.machine(name, templateSelector=chosen)
        made = await yard.provisioned("a", "b", "c")
        assert {each.status.proxmox_node for each in made} == {"pve1", "pve2", "pve3"}
        for each in made:
            guest = yard.there.emulator.datacenter.guests[each.spec.virtual_machine_id or 0]
            assert str(guest.config["scsihw"]) == "virtio-scsi-single"
        planned = await job.plan()
        assert planned.nothing, "machines made from an image are no images"
        found = removal(await observe(client), await users(yard.user), {}, keep=0)
        assert not found.going
        assert all("selected by ProxmoxMachine fleet/" in why for _, why in found.staying)
        assert {each.spec.virtual_machine_id for each in made} <= await reserved(yard.user)
        for name in ("a", "b", "c"):
            await yard.delete(name)
        await yard.gone("a", "b", "c")
        assert len(removal(await observe(client), await users(yard.user), {}, keep=0).going) == 3

    play_yard(scenario)


def template(image: Image, vmid: int = 9000) -> Template:
    return Template(vmid, "pve1", image.name, frozenset(image.tags), marker=marker_of(image, vmid, "2030"))


def kept(image: Image, found: Any) -> str:
    """Why an image stays; empty if it may go."""
    made = template(image)
    decided = removal(Seen((9, 2), {"pve1": True}, templates=(made,)), found, {}, only=[made])
    return decided.staying[0][1] if decided.staying else ""


def test_what_objects_select_stays() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        assert kept(IMAGE, await users(plane.client)) == ""
        network = {"networkDevices": [{"name": "net0", "bridge": "vmbr0"}]}
        for name, chosen in (
            ("by-tags", {"templateSelector": {"matchTags": ["debian-13"]}}),
            ("by-version", {"templateSelector": selector("debian-13", kubernetes=True)}),
            ("by-id", {"sourceNode": "pve1", "templateID": 9000}),
        ):
            await plane.create(
                {
                    "kind": "ProxmoxMachineTemplate",
                    "metadata": {"namespace": NAMESPACE, "name": name},
                    "spec": {"template": {"spec": {"network": network, **chosen}}},
                }
            )
        found = await users(plane.client)
        assert kept(IMAGE, found) == (
            "it is selected by ProxmoxMachineTemplate default/by-id, ProxmoxMachineTemplate default/by-tags"
        )
        await plane.delete("ProxmoxMachineTemplate", "by-id")
        assert "by-version" in kept(BAKED, await users(plane.client))
        await plane.create(deployment("v1.37.1"))
        assert kept(BAKED, await users(plane.client)) == "", "no machine has this version any more"
        await plane.merge("MachineDeployment", "workers", {"spec": {"template": {"spec": {"version": "v1.36.3"}}}})
        assert "by-version" in kept(BAKED, await users(plane.client))

    play_plane(scenario)


def deployment(version: str) -> dict[str, Any]:
    machine = {
        "clusterName": "shop",
        "version": version,
        "bootstrap": {"dataSecretName": "x"},
        "infrastructureRef": {"apiGroup": GROUP, "kind": "ProxmoxMachineTemplate", "name": "x"},
    }
    labels = {"a": "b"}
    made = {"metadata": {"labels": labels}, "spec": machine}
    spec = {"clusterName": "shop", "selector": {"matchLabels": labels}, "template": made}
    return {"kind": "MachineDeployment", "metadata": {"name": "workers", "namespace": NAMESPACE}, "spec": spec}


def test_an_api_that_knows_no_machines_is_not_believed() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await plane.client.delete(DEFINITIONS, "", "proxmoxmachines.infrastructure.cluster.x-k8s.io")

        async def unaware() -> str:
            try:
                await users(plane.client)
            except Unaware as error:
                return str(error)
            return ""

        assert "check --kubeconfig" in await plane.until("the kind is gone", unaware)

    play_plane(scenario)


def test_the_selector_of_a_connection_counts_too() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await plane.create(credentials(plane), connection(defaults={"templateSelector": {"matchTags": ["debian-13"]}}))
        assert "ProxmoxConnection default/pve" in kept(IMAGE, await users(plane.client))

    play_plane(scenario)


def test_a_connection_is_read_as_controllers_read_it() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        with pytest.raises(NoWay, match=r"has no ProxmoxConnection: make one with `nagaya proxmox connect URL -n "):
            await by_connection(plane.client, NAMESPACE)
        with pytest.raises(NoWay, match="ProxmoxConnection default/nope does not exist"):
            await by_connection(plane.client, NAMESPACE, "nope")
        await plane.create(connection(pool="nagaya", defaults={"storage": "local-lvm", "bridge": "vmbr7"}))
        with pytest.raises(NoWay, match="Secret default/pve does not exist"):
            await by_connection(plane.client, NAMESPACE)
        await plane.create(credentials(plane))
        way = await by_connection(plane.client, NAMESPACE)
        assert (way.pool, way.storage, way.bridge) == ("nagaya", "local-lvm", "vmbr7")
        assert [each.host for each in way.facts.endpoints] == ["pve1", "pve2", "pve3"]
        await plane.create(connection("other"))
        with pytest.raises(NoWay, match=r"several ProxmoxConnections \(other, pve\)"):
            await by_connection(plane.client, NAMESPACE)

    play_plane(scenario)


@pytest.mark.parametrize("baked", [False, True], ids=["plain", "baked"])
def test_the_manifests_that_are_printed_are_accepted(baked: bool) -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        for each in manifests("debian-13", "v1.36.3", kubernetes=baked, name="debian-13"):
            each["metadata"]["namespace"] = NAMESPACE
            await plane.create(each)
            assert await plane.get(each["kind"], "debian-13") is not None
        if not baked:
            made = await plane.get("KubeadmConfigTemplate", "debian-13")
            assert made.spec.template.metadata.annotations == {"bootstrap.nagaya.dev/install": "packages"}

    play_plane(scenario)
