from __future__ import annotations

import pytest

from nagaya.simulators.proxmox.control.control import Control, Unknown
from support.proxmox_lab import proxmox_lab, token
from support.virtual_run import run

GIB = 1 << 30


def test_the_state_has_everything_but_secrets() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            control = Control(lab.emulator)
            lab.datacenter.guests[200].config["cipassword"] = "$5$hashed"
            state = control.state()
            assert [host["name"] for host in state["hosts"]] == ["pve1", "pve2"]
            assert {machine["vmid"] for machine in state["machines"]} == lab.datacenter.guests.keys()
            assert len(state["volumes"]) == len(lab.datacenter.volumes)
            text = str(state)
            tokens = [token for user in lab.datacenter.access.users.values() for token in user.tokens.values()]
            assert tokens
            assert not any(token.secret in text for token in tokens)
            assert "hashed" not in text
            assert "password" not in text

    run(main())


def test_calls_are_counted_by_route_and_client() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            control = Control(lab.emulator)
            for vmid in (100, 200, 201):
                await lab.ask("GET", f"/nodes/pve1/qemu/{vmid}/config")
            await lab.ask("GET", "/nodes/pve1/qemu/100/config", headers=token("alice@pve!full"))
            await lab.ask("GET", "/nowhere")
            route = "/nodes/{node}/qemu/{vmid}/config"
            assert control.requests.count("GET", route) == 4
            assert control.requests.count("GET", route, "alice@pve!full") == 1
            assert control.requests.total == 5
            assert {row["status"] for row in control.requests.listed()} == {200, 403, 501}
            control.requests.reset()
            assert control.requests.total == 0

    run(main())


def test_a_template_that_was_added_can_be_cloned() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            control = Control(lab.emulator)
            control.add_storage("thin", "lvmthin", {"vgname": "pve", "thinpool": "data"}, 100 * GIB)
            control.add_template(8000, "pve1", "thin", name="made", tags="kubernetes")
            task = await lab.task("POST", "/nodes/pve1/qemu/8000/clone", {"newid": 300, "name": "copy"})
            assert task.exitstatus == "OK"
            assert lab.datacenter.guests[300].config["name"] == "copy"
            assert lab.datacenter.volumes["pve1", "thin:vm-300-disk-0"].system == "linux"

    run(main())


def test_an_imagined_file_is_listed() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            Control(lab.emulator).add_file("local", "iso", "made.iso", size=5 * GIB)
            rows = await lab.data("GET", "/nodes/pve1/storage/local/content", {"content": "iso"})
            assert ("local:iso/made.iso", 5 * GIB) in {(row["volid"], row["size"]) for row in rows}

    run(main())


def test_things_that_are_not_there_are_named_with_those_that_are() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            control = Control(lab.emulator)
            with pytest.raises(Unknown, match=r"there is no host 'pve9'. There are: pve1, pve2\."):
                control.power_off("pve9")
            with pytest.raises(Unknown, match="there is no storage 'nowhere'"):
                control.reach("nowhere", False)

    run(main())
