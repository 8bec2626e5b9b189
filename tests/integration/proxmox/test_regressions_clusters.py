"""Defects of others around clusters and the choice of hosts, each played once. Named after their issues."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from nagaya.cli.in_process import InProcessTransport
from nagaya.kube.transport import Call
from nagaya.simulators.proxmox.state.guest import Guest
from support.passing_time import PassingLoop
from support.proxmox_plane import ProxmoxPlane, connection, credentials, make_cluster
from support.proxmox_plane import play as play_plane
from support.proxmox_town import town
from support.proxmox_town_layout import NEW, OLD
from support.proxmox_town_life import CREATE, UPGRADE, live
from support.proxmox_town_manifests import Shop
from support.proxmox_yard import Yard, play

GIB = 1 << 30
PATH = "/apis/infrastructure.cluster.x-k8s.io/v1alpha2/namespaces/default"


def hosts_of(yard: Yard) -> list[str]:
    """Where the VMs are that are no templates."""
    return sorted(each.node for each in yard.there.emulator.datacenter.guests.values() if not each.template)


@pytest.mark.parametrize("validation", ["Strict", "Warn"])
def test_omni_76_a_field_that_does_not_exist_is_told_and_never_dropped_in_silence(validation: str) -> None:
    """There `cpus` instead of `cores` was ignored, and machines came out with the defaults."""

    async def scenario(yard: Yard) -> None:
        network = {"networkDevices": [{"name": "net0", "bridge": "vmbr0"}]}
        spec = {"templateSelector": {"matchTags": ["kubernetes"]}, "network": network, "numCpus": 8}
        content = {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha2",
            "kind": "ProxmoxMachine",
            "metadata": {"name": "typo", "namespace": "default"},
            "spec": spec,
        }
        answer = await InProcessTransport(yard.server).send(
            Call(
                "POST",
                f"{PATH}/proxmoxmachines",
                {"fieldValidation": validation},
                {"content-type": "application/json"},
                orjson.dumps(content),
            )
        )
        if validation == "Strict":
            assert answer.status == 400
            assert b"spec.numCpus" in answer.body
        else:
            assert answer.status == 201, answer.body
            assert "spec.numCpus" in answer.headers["warning"]

    play(scenario)


def test_capmox_36_71_templates_take_no_memory() -> None:
    """There the memory of templates counted as used: a host with some large ones had `0B available`."""

    async def scenario(yard: Yard) -> None:
        datacenter = yard.there.emulator.datacenter
        for number in range(8):
            config = {"name": f"large-{number}", "memory": "65536", "cores": 16, "template": 1, "tags": "windows"}
            datacenter.guests[9500 + number] = Guest(9500 + number, f"pve{number % 3 + 1}", config)
        await asyncio.sleep(15)  # until hosts have told of them
        await yard.cluster()
        await yard.machine("a")
        await yard.provisioned("a")

    play(scenario)


def test_omni_33_capmox_747_machines_that_come_together_are_spread() -> None:
    """There each was placed by what the list of VMs showed, which did not have the others yet: all on one host."""

    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        names = [f"m{number}" for number in range(6)]
        await asyncio.gather(*(yard.machine(name) for name in names))
        await yard.provisioned(*names)
        assert hosts_of(yard) == ["pve1", "pve1", "pve2", "pve2", "pve3", "pve3"]

    play(scenario)


@pytest.mark.parametrize("named", ["pve9", "PVE1"])
def test_capmox_340_a_host_that_does_not_exist_is_named_and_the_others_serve(named: str) -> None:
    """There one name that was wrong, or written in another way, ended all: `cannot find node`."""

    async def scenario(plane: ProxmoxPlane) -> None:
        await plane.create(credentials(plane), connection(insecure=True))
        await make_cluster(plane, allowedNodes=["pve1", named])

        async def told() -> Any:
            found = await plane.get("ProxmoxCluster", "shop")
            return next((each.message for each in found.status.conditions if named in each.message), None)

        message = await plane.until(f"somebody names {named}", told)
        assert "pve1" in message or "pve2" in message, f"it does not say which there are: {message}"

    play_plane(scenario)


def test_capmox_312_an_upgrade_names_a_version_and_no_template() -> None:
    """There every version needs the VMIDs of its templates written into the manifests."""

    async def main() -> None:
        async with town(Shop(1, 1)) as here:
            await here.begin()
            await live(here, (CREATE,))
            before = {each.config["tags"] for each in here.datacenter.guests.values() if _is_machine(each)}
            assert all(f"kubernetes-{OLD}" in each for each in before), before
            await live(here, (UPGRADE,))
            after = {each.config["tags"] for each in here.datacenter.guests.values() if _is_machine(each)}
            assert all(f"kubernetes-{NEW}" in each for each in after), after

    with asyncio.Runner(loop_factory=PassingLoop) as runner:
        runner.run(main())


def test_capmox_717_control_planes_are_spread_over_failure_domains() -> None:
    """There are none there: three control planes may be on one host, and go down with it."""
    domains = [
        {"name": name, "nodes": [host]} for name, host in (("left", "pve1"), ("middle", "pve2"), ("right", "pve3"))
    ]

    async def main() -> None:
        async with town(Shop(3, 0, infrastructure={"failureDomains": domains})) as here:
            await here.begin()
            await live(here, (CREATE,))
            assert sorted(each.node for each in here.datacenter.guests.values() if _is_machine(each)) == [
                "pve1", "pve2", "pve3",
            ]  # fmt: skip
            cluster = await here.get("Cluster", "shop")
            assert sorted(each.name for each in cluster.status.failure_domains) == ["left", "middle", "right"]
            machines = await here.all("Machine")
            assert sorted(each.spec.failure_domain for each in machines) == ["left", "middle", "right"]

    with asyncio.Runner(loop_factory=PassingLoop) as runner:
        runner.run(main())


def _is_machine(guest: Guest) -> bool:
    return str(guest.config.get("name") or "").startswith("shop-")


def test_ccm_206_kasm_858_foreman_368_a_host_that_is_off_keeps_no_other_machine_from_its_addresses() -> None:
    """There one dead host kept every new node from being initialised: all VMs were read before any was."""

    async def scenario(yard: Yard) -> None:
        await yard.cluster(addressing="dhcp")
        await yard.machine("a")
        await yard.provisioned("a")
        (where,) = hosts_of(yard)
        yard.control.power_off(where)
        await yard.machine("b")
        (made,) = await yard.provisioned("b")
        assert [each.address for each in made.status.addresses if each.type == "InternalIP"]

    play(scenario)
