from __future__ import annotations

import pytest

from nagaya.simulators.proxmox.layouts.demo import demo
from support.proxmox_lab import ProxmoxLab, proxmox_lab, token
from support.virtual_run import run, virtual_world


def test_a_host_alone_is_no_cluster() -> None:
    async def main() -> None:
        world = virtual_world()
        async with proxmox_lab(demo(world, hosts=1), world=world) as lab:
            rows = await lab.data("GET", "/cluster/status")
            assert [(row["type"], row["name"], row["online"]) for row in rows] == [("node", "pve1", 1)]

    run(main())


def test_the_next_number_is_not_reserved() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            assert await lab.data("GET", "/cluster/nextid") == await lab.data("GET", "/cluster/nextid") == "101"
            await lab.task("POST", "/nodes/pve1/qemu", {"vmid": 101})
            assert await lab.data("GET", "/cluster/nextid") == "102"
            await lab.task("DELETE", "/nodes/pve1/qemu/101")
            assert await lab.data("GET", "/cluster/nextid") == "101"

    run(main())


def test_options_of_the_data_center_are_shown_taken_apart() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            given = {"migration": "type=insecure,network=192.0.2.0/24", "registered-tags": "b;a", "mac_prefix": "BC:24"}
            await lab.data("PUT", "/cluster/options", given)
            shown = await lab.data("GET", "/cluster/options")
            assert shown["migration"] == {"type": "insecure", "network": "192.0.2.0/24"}
            assert shown["registered-tags"] == ["a", "b"]
            assert shown["allowed-tags"] == ["a", "b"]
            assert shown["mac_prefix"] == "BC:24"
            seen = await lab.data("GET", "/cluster/options", headers=token("alice@pve!full"))
            assert seen == {"allowed-tags": []}
            await lab.data("PUT", "/cluster/options", {"delete": "migration"})
            assert "migration" not in await lab.data("GET", "/cluster/options")

    run(main())


async def _managed(lab: ProxmoxLab, *vmids: int) -> None:
    for vmid in vmids:
        await lab.data("POST", "/cluster/ha/resources", {"sid": f"vm:{vmid}"})


@pytest.mark.parametrize(
    ("rule", "refusal"),
    [
        ({"type": "node-affinity"}, "missing value for required option 'nodes'"),
        ({"type": "node-affinity", "nodes": "pve9"}, "create ha rule failed: cannot use non-existant node(s) pve9."),
        ({"type": "node-affinity", "nodes": "pve1", "affinity": "positive"}, "unexpected property 'affinity'"),
        ({"type": "resource-affinity", "affinity": "positive", "resources": "vm:200"},
         "create ha rule failed: 400 Rule 'r1' is invalid."),
        ({"type": "resource-affinity", "affinity": "negative", "resources": "vm:200,vm:201,vm:202"},
         "create ha rule failed: 400 Rule 'r1' is invalid."),
    ],
)  # fmt: skip
def test_rules_that_could_never_be_kept_are_refused(rule: dict[str, str], refusal: str) -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await _managed(lab, 200, 201, 202)
            answer = await lab.ask("POST", "/cluster/ha/rules", {"rule": "r1", "resources": "vm:200,vm:201", **rule})
            assert (answer.status, answer.reason) == (500, refusal)
            assert lab.datacenter.ha.rules == {}

    run(main())


def test_rules_forget_a_machine_that_is_no_longer_looked_after() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await _managed(lab, 200, 201)
            rule = {"rule": "r1", "type": "resource-affinity", "affinity": "negative", "resources": "vm:200,vm:201"}
            await lab.data("POST", "/cluster/ha/rules", rule)
            assert len(await lab.data("GET", "/cluster/ha/rules", {"resource": "vm:200"})) == 1
            await lab.data("DELETE", "/cluster/ha/resources/vm:200")
            assert (await lab.data("GET", "/cluster/ha/rules/r1"))["resources"] == "vm:201"
            await lab.data("DELETE", "/cluster/ha/resources/vm:201")
            assert await lab.data("GET", "/cluster/ha/rules") == []

    run(main())


def test_what_the_manager_notes_is_not_shown_as_declared() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await _managed(lab, 200)
            lab.datacenter.ha.resources["vm:200"] |= {"crm": "started", "migrate": "pve2"}
            shown = await lab.data("GET", "/cluster/ha/resources/vm:200")
            assert shown.keys() == {"sid", "type", "digest"}

    run(main())


def test_groups_are_gone_in_9_and_there_in_8() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            answer = await lab.ask("GET", "/cluster/ha/groups")
            assert answer.reason == "cannot index groups: ha groups have been migrated to rules"
            answer = await lab.ask("POST", "/cluster/ha/resources", {"sid": "vm:200", "group": "gg"})
            assert answer.reason == "invalid parameter 'group': ha groups have been migrated to rules"
            lab.datacenter.version = "8.4.14"
            await lab.data("POST", "/cluster/ha/groups", {"group": "gg", "nodes": "pve1:2,pve2"})
            await lab.data("POST", "/cluster/ha/resources", {"sid": "vm:200", "group": "gg"})
            answer = await lab.ask("DELETE", "/cluster/ha/groups/gg")
            assert answer.reason == "delete ha group failed: ha group is used by service 'vm:200'"

    run(main())


def test_mappings_zones_and_networks_are_kept() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            device = "id=10de:1eb8,node=pve1,path=0000:01:00.0"
            await lab.data("POST", "/cluster/mapping/pci", {"id": "gpu", "map": device})
            assert [row["id"] for row in await lab.data("GET", "/cluster/mapping/pci")] == ["gpu"]
            await lab.data("POST", "/cluster/sdn/zones", {"zone": "zone1", "type": "simple"})
            await lab.data("POST", "/cluster/sdn/vnets", {"vnet": "vnet1", "zone": "zone1"})
            answer = await lab.ask("DELETE", "/cluster/sdn/zones/zone1")
            assert answer.reason == "delete sdn zone object failed: zone zone1 is used by vnet vnet1"
            bridges = await lab.data("GET", "/nodes/pve1/network", {"type": "any_bridge"})
            assert [row["iface"] for row in bridges] == ["vmbr0", "vnet1"]
            assert len(await lab.data("GET", "/nodes/pve1/network", {"type": "any_local_bridge"})) == 1

    run(main())


def test_the_log_of_the_cluster_has_ones_own_tasks() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            task = await lab.task("POST", "/nodes/pve1/qemu", {"vmid": 300})
            rows = await lab.data("GET", "/cluster/log", {"max": 1})
            assert [row["msg"] for row in rows] == [f"end task {task.upid} OK"]
            assert await lab.data("GET", "/cluster/log", headers=token("alice@pve!full")) == []

    run(main())
