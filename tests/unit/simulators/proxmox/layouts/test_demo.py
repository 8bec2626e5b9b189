from __future__ import annotations

from nagaya.simulators.proxmox.layouts.demo import KUBERNETES, demo, secret
from support.proxmox_lab import ProxmoxLab, proxmox_lab
from support.virtual_run import run, virtual_world


async def ask(lab: ProxmoxLab, path: str) -> object:
    token = {"authorization": f"PVEAPIToken=root@pam!demo={secret(lab.datacenter)}"}
    return await lab.data("GET", path, headers=token)


def test_the_demo_has_a_template_on_each_host_and_is_quorate() -> None:
    async def main() -> None:
        world = virtual_world()
        async with proxmox_lab(demo(world), world=world) as lab:
            assert lab.datacenter.quorate
            assert len(lab.datacenter.nodes) == 3
            assert {guest.node for guest in lab.datacenter.guests.values() if guest.template} == {
                "pve1",
                "pve2",
                "pve3",
            }
            config = await ask(lab, "/nodes/pve2/qemu/9002/config")
            assert isinstance(config, dict)
            assert KUBERNETES in config["tags"]

    run(main())


def test_one_host_alone_is_no_cluster() -> None:
    async def main() -> None:
        assert demo(virtual_world(), hosts=1).name is None

    run(main())
