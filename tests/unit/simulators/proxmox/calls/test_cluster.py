from __future__ import annotations

import pytest

from nagaya.simulators.proxmox.layouts.demo import demo
from nagaya.simulators.proxmox.layouts.lab import lab as lab_layout
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
            assert shown["registered-tags"] == ["b", "a"]
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


def test_who_audits_a_host_sees_no_bridge_for_that() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            path, caller = "/nodes/pve1/network", token("ops@pve!k1")
            seen = {"users": "ops@pve", "roles": "PVEAuditor"}
            await lab.data("PUT", "/access/acl", {"path": "/nodes/pve1", **seen})
            assert await lab.data("GET", path, headers=caller) == []
            await lab.data("PUT", "/access/acl", {"path": "/sdn/zones/localnetwork", **seen})
            assert [row["iface"] for row in await lab.data("GET", path, headers=caller)] == ["vmbr0"]

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


def test_the_log_of_the_cluster_has_logins_and_changes_too() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.ask("POST", "/access/ticket", {"username": "alice@pve", "password": "alice-password"}, headers={})
            await lab.data("PUT", "/nodes/pve1/qemu/202/config", {"name": "other", "delete": "tags"})
            rows = await lab.data("GET", "/cluster/log")
            assert [(row["msg"], row["user"], row["pri"]) for row in rows] == [
                ("update VM 202: -delete tags -name other", "root@pam", 6),
                ("successful auth for user 'alice@pve'", "root@pam", 6),
            ]
            assert [row["id"] for row in rows] == ["2:pve1", "1:pve1"]

    run(main())


def test_a_rule_that_lost_its_sense_says_so() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            for vmid in (200, 201):
                await lab.data("POST", "/cluster/ha/resources", {"sid": f"vm:{vmid}", "state": "enabled"})
            rule = {"rule": "r1", "type": "resource-affinity", "affinity": "negative", "resources": "vm:200,vm:201"}
            await lab.data("POST", "/cluster/ha/rules", rule)
            assert "errors" not in await lab.data("GET", "/cluster/ha/rules/r1")
            await lab.data("DELETE", "/cluster/ha/resources/vm:201")
            left = await lab.data("GET", "/cluster/ha/rules/r1")
            why = "rule is ineffective as there are less than two resources"
            assert (left["resources"], left["errors"]) == ("vm:200", {"resources": [why]})
            both = {"type": "resource-affinity", "comment": "x", "delete": "comment"}
            refused = await lab.ask("PUT", "/cluster/ha/rules/r1", both)
            assert refused.reason.endswith("cannot set and delete property 'comment' at the same time!")

    run(main())


def test_without_a_manager_at_work_no_host_would_be_reset() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            assert await lab.data("GET", "/cluster/ha/status/current") == [
                {"id": "quorum", "type": "quorum", "node": "pve1", "status": "OK", "quorate": 1},
                {
                    "id": "fencing",
                    "type": "fencing",
                    "node": "pve1",
                    "status": "standby (CRM watchdog standby)",
                    "armed-state": "standby",
                },
            ]
            kept = {"manager_status": {}, "quorum": {"node": "pve1", "quorate": "1"}}
            assert await lab.data("GET", "/cluster/ha/status/manager_status") == kept
            lab.datacenter.version = "8.4.1"
            assert len(await lab.data("GET", "/cluster/ha/status/current")) == 1

    run(main())


def test_resources_keep_what_was_said_and_status_tells_what_it_means() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.data("POST", "/cluster/ha/resources", {"sid": "vm:200", "state": "enabled", "max_restart": 3})
            assert (await lab.data("GET", "/cluster/ha/resources/vm:200"))["state"] == "enabled"
            row = (await lab.data("GET", "/cluster/ha/status/current"))[-1]
            told = {name: row[name] for name in ("request_state", "max_restart", "max_relocate", "failback")}
            assert told == {"request_state": "started", "max_restart": 3, "max_relocate": 1, "failback": 1}
            change = {"state": "stopped", "comment": "x", "delete": "comment"}
            await lab.data("PUT", "/cluster/ha/resources/vm:200", change)
            assert "comment" not in await lab.data("GET", "/cluster/ha/resources/vm:200")

    run(main())


@pytest.mark.parametrize(
    ("sid", "refusal"),
    [
        ("9998", "unable do add resource - VM/CT 9998 does not exist"),
        ("vm:9998", "resource 'vm:9998' does not exist in cluster"),
        ("ct:200", "resource 'ct:200' does not exist in cluster"),
        ("vm:abc", "invalid VMID"),
        ("foo:200", "unknown section type 'foo'"),
    ],
)
def test_only_machines_that_exist_are_looked_after(sid: str, refusal: str) -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            answer = await lab.ask("POST", "/cluster/ha/resources", {"sid": sid})
            assert (answer.status, answer.reason) == (500, refusal)

    run(main())


@pytest.mark.parametrize(("kind", "place"), [("pci", "id=10de:1234,path=0000:01:00.0"), ("usb", "id=1234:5678")])
def test_mappings_are_named_by_their_kind_in_refusals(kind: str, place: str) -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            path = f"/cluster/mapping/{kind}"
            given = {"id": "gpu", "map": f"{place},node=pve1"}
            await lab.data("POST", path, given)
            twice = await lab.ask("POST", path, given)
            assert twice.reason == f"create hardware mapping failed: {kind} ID 'gpu' already defined"
            unknown = await lab.ask("PUT", f"{path}/other", {"map": given["map"]})
            assert unknown.reason == f"update hardware mapping failed: {kind} ID 'other' does not exist"
            assert (await lab.data("GET", f"{path}/gpu"))["type"] == kind
            both = await lab.ask("PUT", f"{path}/gpu", {"map": given["map"], "description": "x", "delete": "map"})
            assert both.reason.endswith("unable to delete required option 'map'")
            assert await lab.data("GET", path, headers=token("alice@pve!sep")) == []
            await lab.data("DELETE", f"{path}/gpu")
            assert (await lab.ask("GET", f"{path}/gpu")).reason == "mapping 'gpu' not found"

    run(main())


def test_folders_are_mapped_apart_from_devices() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.data("POST", "/cluster/mapping/dir", {"id": "data", "map": "node=pve1,path=/srv/data"})
            assert lab.datacenter.folder_mappings["data"]["map"] == ["node=pve1,path=/srv/data"]
            assert lab.datacenter.mappings == {}

    run(main())


def test_an_older_version_has_no_folders_that_came_later() -> None:
    async def main() -> None:
        datacenter = lab_layout()
        datacenter.version = "8.4.1"
        async with proxmox_lab(datacenter) as lab:
            names = {row["name"] for row in await lab.data("GET", "/cluster")}
            assert not names & {"bulk-action", "qemu"}
            caps = await lab.data("GET", "/nodes/pve1/capabilities/qemu")
            assert [row["name"] for row in caps] == ["cpu", "machines"]

    run(main())


def test_options_are_checked_as_a_whole_when_they_are_written() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            path = "/cluster/options"
            refused = await lab.ask("PUT", path, {"next-id": "lower=300,upper=200"})
            assert (refused.status, refused.reason) == (500, "lower (300) <= upper (200) boundary rule broken")
            given = {"registered-tags": "y;x", "description": "one\ntwo", "bwlimit": "clone=100"}
            await lab.data("PUT", path, given)
            found = await lab.data("GET", path)
            assert (found["registered-tags"], found["description"]) == (["y", "x"], "one\ntwo\n")
            assert found["bwlimit"] == "clone=100"
            await lab.data("PUT", path, {"keyboard": "de"})
            assert (await lab.data("GET", path))["registered-tags"] == ["x", "y"]

    run(main())


def test_a_host_alone_has_no_cluster_to_join() -> None:
    async def main() -> None:
        world = virtual_world()
        async with proxmox_lab(demo(world, hosts=1), world=world) as lab:
            assert await lab.data("GET", "/cluster/config/nodes") == []
            assert await lab.data("GET", "/cluster/config/totem") == {}
            answer = await lab.ask("GET", "/cluster/config/join")
            assert (answer.status, answer.reason) == (424, "node is not in a cluster, no join info available!")
        async with proxmox_lab() as lab:
            assert (await lab.ask("GET", "/cluster/config/join", {"node": "pve9"})).reason == "unknown node 'pve9'"

    run(main())


def test_networks_are_changed_by_those_who_may() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.data("POST", "/cluster/sdn/zones", {"zone": "zone1", "type": "simple", "nodes": "pve1"})
            await lab.data("POST", "/cluster/sdn/vnets", {"vnet": "vnet1", "zone": "zone1", "alias": "a"})
            nobody, path = token("ops@pve!k1"), "/cluster/sdn/vnets/vnet1"
            for method, rights in (
                ("GET", "SDN.Audit|SDN.Allocate"),
                ("PUT", "SDN.Allocate"),
                ("DELETE", "SDN.Allocate"),
            ):
                answer = await lab.ask(method, path, headers=nobody)
                assert answer.reason == f"Permission check failed (/sdn/zones/zone1/vnet1, {rights})"
            unknown = await lab.ask("GET", "/cluster/sdn/vnets/other", headers=nobody)
            assert unknown.reason == "sdn 'other' does not exist"
            both = await lab.ask("PUT", path, {"alias": "b", "delete": "alias"})
            assert both.reason.endswith("cannot set and delete property 'alias' at the same time!")
            rows = await lab.data("GET", "/nodes/pve1/network", {"type": "vnet"})
            told = {"iface": "vnet1", "type": "vnet", "active": "1", "ipam": 0, "vlanaware": 0, "comments": "a"}
            assert rows == [told]
            lab.datacenter.zones["zone1"]["nodes"] = "pve2"
            assert await lab.data("GET", "/nodes/pve1/network", {"type": "vnet"}) == []
            lab.datacenter.expected_votes = None
            late = await lab.ask("POST", "/cluster/sdn/vnets", {"vnet": "vnet2", "zone": "zone1"})
            assert late.reason == "cluster not ready - no quorum?"

    run(main())


@pytest.mark.parametrize(
    ("kind", "place", "told"),
    [
        ("pci", "path=0000:01:00.0,id=10de:1234", "checks"),
        ("usb", "id=0951:1666", "errors"),
        ("dir", "path=/srv/data", "checks"),
    ],
)
def test_a_host_says_whether_a_mapping_means_anything_there(kind: str, place: str, told: str) -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            path = f"/cluster/mapping/{kind}"
            await lab.data("POST", path, {"id": "one", "map": f"node=pve1,{place}"})
            await lab.data("POST", path, {"id": "two", "map": f"node=pve2,{place}"})
            assert told not in (await lab.data("GET", path))[0]
            one, two = await lab.data("GET", path, {"check-node": "pve1"})
            assert one[told] == []
            assert two[told] == [{"severity": "warning", "message": "No mapping for node pve1."}]
            assert (await lab.ask("GET", path, {"check-node": "pve2"})).status == 595
            assert (await lab.ask("GET", path, {"check-node": ""})).reason == (
                "internal error - proxyto_callback returned nothing"
            )

    run(main())


def test_addresses_are_handed_out_by_pve_itself_which_has_none() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            path = "/cluster/sdn/ipams"
            own = {"ipam": "pve", "type": "pve", "digest": "da39a3ee5e6b4b0d3255bfef95601890afd80709"}
            assert await lab.data("GET", path) == [own]
            assert await lab.data("GET", path, {"type": "netbox"}) == []
            assert await lab.data("GET", path, headers=token("alice@pve!full")) == []
            assert await lab.data("GET", f"{path}/pve") == own
            assert await lab.data("GET", f"{path}/pve/status") == []
            assert (await lab.ask("GET", f"{path}/other")).reason == "sdn 'other' does not exist"
            assert (await lab.ask("GET", f"{path}/other/status")).reason == "Currently only PVE IPAM is supported!"

    run(main())


def test_a_host_tells_of_the_zones_that_it_belongs_to() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.data("POST", "/cluster/sdn/zones", {"zone": "here", "type": "simple"})
            await lab.data("POST", "/cluster/sdn/zones", {"zone": "there", "type": "simple", "nodes": "pve2"})
            assert await lab.data("GET", "/nodes/pve1/sdn/zones") == [{"zone": "here", "status": "available"}]
            await lab.data("POST", "/cluster/sdn/vnets", {"vnet": "net1", "zone": "here"})
            found = await lab.data("GET", "/nodes/pve1/sdn/zones/here/content")
            assert found == [{"vnet": "net1", "status": "available", "statusmsg": None}]
            assert await lab.data("GET", "/nodes/pve1/sdn/zones/there/content") == []

    run(main())


def test_a_machine_that_nothing_backs_up_may_have_no_name() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            del lab.datacenter.guests[202].config["name"]
            rows = await lab.data("GET", "/cluster/backup-info/not-backed-up")
            assert {"vmid": 202, "name": None, "type": "qemu"} in rows

    run(main())
