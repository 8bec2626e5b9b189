"""What a machine is made of: options that do not fit together, and what a host refuses to start."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from nagaya.simulators.proxmox.state.storage import Volume
from support.proxmox_lab import ProxmoxLab, proxmox_lab
from support.subtest_cases import subtest_cases
from support.virtual_run import run

QEMU = "/nodes/pve1/qemu"
CONFIG = f"{QEMU}/200/config"


async def refused(lab: ProxmoxLab, method: str, path: str, parameters: dict[str, Any]) -> Any:
    answer = await lab.ask(method, path, parameters)
    body = orjson.loads(answer.body)
    assert answer.status >= 400, answer
    return body.get("errors") or body["message"].strip()


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"machine": "pc,viommu=intel"}, "to use Intel vIOMMU please set the machine type to q35"),
        ({"vga": "serial0,clipboard=vnc"}, "vga type serial0 is not compatible with VNC clipboard"),
        ({"scsi1": "/srv/disk.raw"}, {"scsi1": "unable to associate path '/srv/disk.raw' to any storage"}),
        (
            {"scsi1": "/var/lib/store/images/201/vm-201-disk-0.raw,media=cdrom"},
            {"scsi1": "unexpected media type (images != iso)"},
        ),
        (
            {"scsi1": "store:0,import-from=local:import/pack.ova/disk.vmdk"},
            {
                "scsi1": "import working storage 'local' does not support 'images' content type or is not file based.",
            },
        ),
    ],
)
def test_what_does_not_fit_together_is_refused(parameters: dict[str, Any], why: Any) -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            before = dict(lab.datacenter.guests[200].config)
            assert await refused(lab, "PUT", CONFIG, parameters) == why
            assert lab.datacenter.guests[200].config == before

    run(main())


def test_drives_are_written_as_pve_knows_them() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.datacenter.volumes["pve1", "store:iso/a.iso"] = Volume(
                "store", "iso/a.iso", "iso", "iso", 1 << 20, 0, "pve1"
            )
            given = {"ide0": "none", "ide3": "/var/lib/store/template/iso/a.iso", "cpuunits": 1}
            await lab.data("PUT", CONFIG, given)
            config = await lab.data("GET", CONFIG)
            assert config["ide0"] == "none,media=cdrom"
            assert config["ide3"] == "store:iso/a.iso,media=cdrom,size=1M"
            assert config["cpuunits"] == 2

    run(main())


def test_the_version_of_a_tpm_does_not_change() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.data("PUT", CONFIG, {"tpmstate0": "store:1,version=v2.0"})
            volume = (await lab.data("GET", CONFIG))["tpmstate0"].partition(",")[0]
            why = "cannot change TPM state version after creation"
            assert await refused(lab, "PUT", CONFIG, {"tpmstate0": f"{volume},version=v1.2"}) == why
            await lab.data("PUT", CONFIG, {"tpmstate0": "images2:1,version=v1.2"})

    run(main())


def test_a_machine_that_becomes_one_for_windows_is_tied_to_a_version() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            task = await lab.task("POST", CONFIG, {"ostype": "win11"})
            assert "pinning machine type to 'pc-i440fx-10.0+pve1' for Windows guest OS" in task.log
            assert (await lab.data("GET", CONFIG))["machine"] == "pc-i440fx-10.0+pve1"
            await lab.data("PUT", CONFIG, {"delete": "machine", "ostype": "win10"})
            assert "machine" not in await lab.data("GET", CONFIG)
            made = await lab.task("POST", QEMU, {"vmid": 300, "ostype": "win10", "machine": "q35"})
            assert made.log[0] == "pinning machine type to 'pc-q35-10.0+pve1' for Windows guest OS"
            assert (await lab.data("GET", f"{QEMU}/300/config"))["machine"] == "pc-q35-10.0+pve1"

    run(main())


@subtest_cases(
    ("given", "why"),
    [
        ({"machine": "pc-i440fx-10.0+pve9"}, "Installed qemu-server (max feature level for 10.0 is pve1) is too old"),
        ({"net0": "virtio,bridge=vmbr0,mtu=9000"}, "netdev net0: MTU '9000' is bigger than the bridge MTU '1500'"),
        ({"net0": "virtio,bridge=vmbr0,mtu=200"}, "netdev net0: MTU '200' is smaller than the IP minimum MTU '576'"),
        ({"hotplug": "memory"}, "NUMA needs to be enabled for memory hotplug"),
        ({"hostpci0": "mapping=gpu"}, "PCI device mapping not found for 'gpu'"),
        ({"usb0": "mapping=stick"}, "USB device mapping not found for 'stick'"),
        ({"usb7": "spice"}, "using usb7 is only possible with machine type >= 7.1 and ostype l26 or windows > 7"),
        ({"vga": "virtio-gl"}, "missing libraries for 'virtio-gl' detected! Please install 'libgl1' and 'libegl1'"),
        ({"cpu": "host"}, "start failed: QEMU exited with code 1"),
        ({"parallel0": "/dev/parport0"}, "no such parallel device"),
    ],
)
def test_what_a_host_cannot_start_says_why(given: dict[str, Any], why: str) -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.data("PUT", CONFIG, given)
            task = await lab.task("POST", f"{QEMU}/200/status/start")
            assert str(task.exitstatus).startswith(why), task.log
            assert lab.datacenter.guests[200].process is None

    run(main())


def test_storages_are_looked_at_before_volumes() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            start = f"{QEMU}/200/status/start"
            del lab.datacenter.volumes["pve1", "store:200/vm-200-disk-0.qcow2"]
            assert (await lab.task("POST", start)).exitstatus == "volume 'store:200/vm-200-disk-0.qcow2' does not exist"
            lab.datacenter.storages["store"].options["content"] = "iso"
            why = "storage 'store' does not support content-type 'images'"
            assert (await lab.task("POST", start)).exitstatus == why

    run(main())


def test_firmware_without_a_disk_is_a_warning() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.data("PUT", CONFIG, {"bios": "ovmf"})
            task = await lab.task("POST", f"{QEMU}/200/status/start")
            assert task.exitstatus == "WARNINGS: 1"
            assert "WARN: no efidisk configured! Using temporary efivars disk." in task.log

    run(main())


def test_a_hook_that_is_gone_keeps_a_machine_off() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.data("PUT", CONFIG, {"hookscript": "store:snippets/hook.sh"})
            del lab.datacenter.volumes["pve1", "store:snippets/hook.sh"]
            task = await lab.task("POST", f"{QEMU}/200/status/start")
            why = "hookscript error for 200 on pre-start: script 'store:snippets/hook.sh' does not exist"
            assert (task.exitstatus or "").rstrip() == why

    run(main())


def test_a_running_machine_takes_no_more_processors_than_it_has_sockets_for() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.data("PUT", CONFIG, {"hotplug": "cpu", "cores": 2, "vcpus": 1})
            await lab.task("POST", f"{QEMU}/200/status/start")
            why = {"vcpus": "hotplug problem - you can't add more vcpus than maxcpus\n"}
            assert await refused(lab, "PUT", CONFIG, {"vcpus": 3}) == why
            await lab.data("PUT", CONFIG, {"vcpus": 2})
            assert lab.datacenter.guests[200].config["vcpus"] == 2

    run(main())
