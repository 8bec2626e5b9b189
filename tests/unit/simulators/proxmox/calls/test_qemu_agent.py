from __future__ import annotations

import asyncio

from nagaya.simulators.proxmox.guests.iso9660 import write_image
from nagaya.simulators.proxmox.state.storage import Volume
from support.proxmox_lab import ProxmoxLab, proxmox_lab
from support.virtual_run import run

VM = "/nodes/pve1/qemu/400"


async def booted(lab: ProxmoxLab) -> None:
    await lab.task("POST", f"{VM}/status/start")
    await asyncio.sleep(10)


def test_who_asks_too_early_learns_it_after_a_while() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            assert (await lab.ask("POST", f"{VM}/agent/ping")).reason == "VM 400 is not running"
            await lab.task("POST", f"{VM}/status/start")
            began = asyncio.get_running_loop().time()
            assert (await lab.ask("POST", f"{VM}/agent/ping")).reason == "QEMU guest agent is not running"
            assert asyncio.get_running_loop().time() - began == 3
            await asyncio.sleep(10)
            assert await lab.data("POST", f"{VM}/agent/ping") == {"result": {}}
            await lab.task("POST", f"{VM}/status/suspend")
            assert (await lab.ask("POST", f"{VM}/agent/ping")).reason == "QEMU guest agent is not running"

    run(main())


def test_boot_data_reach_the_machine_through_an_iso_file() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            network = """
version: 2
ethernets:
  a:
    match: {macaddress: 'bc:24:11:00:00:04'}
    addresses: [192.0.2.8/24]
"""
            image = write_image(
                "cidata",
                {
                    "user-data": b"#cloud-config\nhostname: from-iso\n",
                    "meta-data": b"instance-id: x\n",
                    "network-config": network.encode(),
                },
            )
            iso = Volume("store", "iso/seed.iso", "iso", "iso", len(image), 0, "pve1", data=image)
            lab.datacenter.volumes["pve1", iso.id] = iso
            await lab.data("PUT", f"{VM}/config", {"ide0": f"{iso.id},media=cdrom"})
            await booted(lab)
            assert (await lab.data("GET", f"{VM}/agent/get-host-name"))["result"]["host-name"] == "from-iso"
            found = (await lab.data("GET", f"{VM}/agent/network-get-interfaces"))["result"][1]
            assert found["ip-addresses"][0]["ip-address"] == "192.0.2.8"
            read = await lab.data("GET", f"{VM}/agent/file-read", {"file": "/run/cloud-init/result.json"})
            assert '"errors": []' in read["content"]

    run(main())


def test_files_go_in_and_out_whole_and_in_part() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await booted(lab)
            await lab.data("POST", f"{VM}/agent/file-write", {"file": "/etc/motd", "content": "hello"})
            read = f"{VM}/agent/file-read"
            assert await lab.data("GET", read, {"file": "/etc/motd"}) == {"content": "hello", "bytes-read": 5}
            part = await lab.data("GET", read, {"file": "/etc/motd", "offset": 1, "count": 2})
            assert part == {"content": "el", "bytes-read": 2, "truncated": 1}
            assert (await lab.data("GET", read, {"file": "/etc/motd", "decode": 0}))["content"] == "aGVsbG8="

    run(main())


def test_a_program_is_started_and_its_end_told_once() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await booted(lab)
            pid = (await lab.data("POST", f"{VM}/agent/exec", {"command": ["echo", "hello"]}))["pid"]
            done = await lab.data("GET", f"{VM}/agent/exec-status", {"pid": pid})
            assert done == {"exited": 1, "exitcode": 0, "out-data": "hello\n", "out-truncated": 0}
            again = await lab.ask("GET", f"{VM}/agent/exec-status", {"pid": pid})
            assert again.reason == "Agent error: Invalid parameter 'pid'"

    run(main())


def test_the_options_of_boot_data_are_shown_as_they_would_be_written() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            vm = "/nodes/pve1/qemu/200"
            await lab.data("PUT", f"{vm}/config", {"ciuser": "me", "ipconfig0": "ip=192.0.2.5/24"})
            assert "user: me\n" in await lab.data("GET", f"{vm}/cloudinit/dump", {"type": "user"})
            assert "address: '192.0.2.5'\n" in await lab.data("GET", f"{vm}/cloudinit/dump", {"type": "network"})
            await lab.task("POST", f"{vm}/status/start")
            await lab.data("PUT", f"{vm}/config", {"ciuser": "you", "nameserver": "192.0.2.53"})
            rows = {row["key"]: row for row in await lab.data("GET", f"{vm}/cloudinit")}
            assert rows["ciuser"] == {"key": "ciuser", "value": "me", "pending": "you"}
            assert rows["nameserver"] == {"key": "nameserver", "pending": "192.0.2.53"}
            await lab.data("PUT", f"{vm}/cloudinit")
            rows = {row["key"]: row for row in await lab.data("GET", f"{vm}/cloudinit")}
            assert rows["ciuser"] == {"key": "ciuser", "value": "you"}
            volume = lab.datacenter.volumes["pve1", "store:200/vm-200-cloudinit.qcow2"]
            assert volume.data is not None
            assert b"user: you\n" in volume.data

    run(main())


def test_what_is_no_encoding_empties_the_file() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await booted(lab)
            path = {"file": "/tmp/x"}
            await lab.data("POST", f"{VM}/agent/file-write", {**path, "content": "aGVsbG8=", "encode": 0})
            assert (await lab.data("GET", f"{VM}/agent/file-read", path))["content"] == "hello"
            answer = await lab.ask("POST", f"{VM}/agent/file-write", {**path, "content": "!!", "encode": 0})
            assert answer.reason == "Agent error: Base64 data '!!' contains invalid characters"
            assert (await lab.data("GET", f"{VM}/agent/file-read", path))["content"] == ""
            answer = await lab.ask("POST", f"{VM}/agent/file-write", {**path, "content": "\u20ac"})
            assert answer.reason.startswith("Wide character in subroutine entry")

    run(main())
