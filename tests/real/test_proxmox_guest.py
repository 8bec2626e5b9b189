"""A machine of the emulated data center that is real: made by API calls, it joins a hosted control plane, and goes.

The control plane, the boot data, kubeadm, the kubelet and containerd are what users have. Emulated is what PVE would
do: keep the template, take the file with the boot data, and switch the machine on.
"""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import orjson
import pytest

from nagaya.binaries.installer import Binaries
from nagaya.kube.tenant_secrets import TENANT_SECRETS, VALUE
from nagaya.simulators.netns.host import NetnsHost
from nagaya.simulators.proxmox.guests.iso9660 import write_image
from nagaya.simulators.proxmox.guests.namespaces import NamespaceGuests
from nagaya.simulators.proxmox.guests.passive import RESULT
from nagaya.simulators.proxmox.layouts.demo import demo
from nagaya.simulators.proxmox.request import Request
from nagaya.world import World
from support.debian import machine_packages
from support.hosted_by_hand import PROGRAMS
from support.joining import PATIENCE, administrator, create, management, running_with
from support.lab import Lab
from support.manifests.netns import OnNetns
from support.netns_leftovers import leftovers
from support.proxmox_lab import ProxmoxLab, proxmox_lab
from support.real import installed_binaries
from support.tenant_kubectl import TenantKubectl

pytestmark = pytest.mark.long("real machines start containerd and a kubelet, and join with kubeadm")

CLUSTER, MACHINE = "ship", "ship-1"
SENTINEL = "/run/cluster-api/bootstrap-success.complete"
INSTANCE = "0c6ba6a5-7b2a-4a86-a6f7-5c0d1c1f3c11"
VMID = 120
QEMU = f"/nodes/pve1/qemu/{VMID}"


@pytest.fixture
def packages() -> Path | None:
    return machine_packages()


@pytest.fixture
def binaries() -> Binaries:
    return installed_binaries((*PROGRAMS, "kubelet", "kubeadm"))


async def test_a_machine_of_the_emulator_becomes_a_ready_node_and_leaves_nothing(
    tmp_path: Path, packages: Path | None, binaries: Binaries
) -> None:
    programs = [binaries.path(name) for name in ("kubelet", "kubeadm", "kubectl")]
    host = NetnsHost(tmp_path / "machines", programs=programs, packages=packages)
    world = World()
    async with (
        host,
        proxmox_lab(demo(world), world=world) as pve,
        management(tmp_path / "hosted", host) as lab,
    ):
        guests = NamespaceGuests(host)
        pve.emulator.machines.backend = guests
        wanted = OnNetns(CLUSTER, binaries.release.kubernetes)
        await create(lab, *wanted.cluster())
        kubectl = await administrator(lab, CLUSTER, binaries, tmp_path)
        # The Machine has no infrastructure of its own: what boots its data is the emulator's.
        config, _, machine = wanted.machine(MACHINE)
        await create(lab, config, machine)
        mac = await _started(pve, await _boot_data(lab))
        await _is_ready(lab, host, kubectl)
        await _answers(pve, host, mac)
        assert (await pve.task("POST", f"{QEMU}/status/stop")).exitstatus == "OK"
        assert (await pve.task("DELETE", QEMU)).exitstatus == "OK"
        await guests.quiet()
        assert not host.machines
        assert VMID not in pve.datacenter.guests
        assert _of_machine(host) == []
    assert leftovers(host) == []
    assert running_with(str(tmp_path)) == []


async def _boot_data(lab: Lab) -> bytes:
    """What the bootstrap provider has made for the Machine."""

    async def rendered() -> Any:
        return (await lab.get("Machine", MACHINE)).spec.bootstrap.data_secret_name

    name = await lab.until("there are boot data", rendered, PATIENCE)
    found = await lab.client.get(TENANT_SECRETS, lab.namespace, name)
    return base64.b64decode(found.data[VALUE])


async def _started(pve: ProxmoxLab, user_data: bytes) -> str:
    """Clone a template, put the boot data into a drive, switch on. Returns the hardware address."""
    clone = await pve.task("POST", "/nodes/pve1/qemu/9001/clone", {"newid": VMID, "name": MACHINE})
    assert clone.exitstatus == "OK"
    meta = f"instance-id: {INSTANCE}\nlocal-hostname: {MACHINE}\n".encode()
    await _upload(pve, write_image("cidata", {"user-data": user_data, "meta-data": meta}))
    await pve.task("POST", f"{QEMU}/config", {"ide2": "local:iso/boot.iso,media=cdrom"})
    assert (await pve.task("POST", f"{QEMU}/status/start")).exitstatus == "OK"
    device: str = (await pve.data("GET", f"{QEMU}/config"))["net0"]
    return device.split("=")[1].split(",")[0].lower()


async def _upload(pve: ProxmoxLab, content: bytes) -> None:
    head = (
        '--b\r\nContent-Disposition: form-data; name="content"\r\n\r\niso\r\n'
        '--b\r\nContent-Disposition: form-data; name="filename"; filename="boot.iso"\r\n\r\n'
    )
    headers = {**pve.ticket(), "content-type": "multipart/form-data; boundary=b"}
    body = head.encode() + content + b"\r\n--b--\r\n"
    path = "/api2/json/nodes/pve1/storage/local/upload"
    answer = await pve.emulator.answer(Request("POST", path, "", headers, body, "pve1"))
    assert (await pve.ended(orjson.loads(answer.body)["data"])).exitstatus == "OK"


async def _is_ready(lab: Lab, host: NetnsHost, kubectl: TenantKubectl) -> None:
    async def ready() -> Any:
        return [
            each
            for each in await kubectl.objects("nodes")
            for condition in each["status"].get("conditions", ())
            if (condition["type"], condition["status"]) == ("Ready", "True")
        ]

    try:
        [node] = await lab.until("the node is Ready", ready, PATIENCE)
    except AssertionError as error:
        box = host.machines.get(MACHINE)
        logs = () if box is None else (box.log(each)[-3000:] for each in ("cloud-init", "runcmd", "kubelet"))
        raise AssertionError("\n".join((str(error), *logs))) from None
    assert node["metadata"]["name"] == MACHINE
    assert node["spec"]["providerID"] == f"netns://{INSTANCE}"
    address = str(host.machines[MACHINE].address.ip)
    assert {"type": "InternalIP", "address": address} in node["status"]["addresses"]


async def _answers(pve: ProxmoxLab, host: NetnsHost, mac: str) -> None:
    """The guest agent tells what is so in the machine."""
    found = (await pve.data("GET", f"{QEMU}/agent/network-get-interfaces"))["result"]
    [device] = [each for each in found if each["name"] == "eth0"]
    assert device["hardware-address"] == mac
    assert device["statistics"]["rx-bytes"] > 0
    address = str(host.machines[MACHINE].address.ip)
    assert address in [each["ip-address"] for each in device["ip-addresses"]]
    assert (await pve.data("GET", f"{QEMU}/agent/get-host-name"))["result"] == {"host-name": MACHINE}
    assert await _read(pve, SENTINEL) == "success\n"
    assert await _ran(pve, "cloud-init", "status", "--wait") == (0, "status: done\n", "")
    assert await _ran(pve, "sh", "-c", "hostname; echo no >&2; exit 3") == (3, f"{MACHINE}\n", "no\n")


async def _ran(pve: ProxmoxLab, *words: str) -> tuple[int, str, str]:
    started = await pve.data("POST", f"{QEMU}/agent/exec", {"command": list(words)})
    async with asyncio.timeout(PATIENCE):
        while True:
            done = await pve.data("GET", f"{QEMU}/agent/exec-status", {"pid": started["pid"]})
            if done["exited"]:
                return done["exitcode"], done.get("out-data", ""), done.get("err-data", "")
            await asyncio.sleep(0.1)


def _of_machine(host: NetnsHost) -> list[str]:
    """What is left of machines while their host goes on, which has a bridge and folders for control groups."""

    def of_host(found: str) -> bool:
        return found.startswith("/sys/fs/cgroup") or (found.startswith("ngy") and "." not in found)

    return [each for each in leftovers(host) if not of_host(each)]


BROKEN = b"#cloud-config\nwrite_files:\n- {path: /etc/x, content: abc, encoding: b64}\nruncmd: [touch /etc/ran]\n"
FINE = b"#cloud-config\nruncmd:\n- hostname > /etc/said\n- 'false'\n"


async def test_a_machine_is_reset_shut_down_and_tells_what_its_boot_data_did(
    tmp_path: Path, packages: Path | None
) -> None:
    host, world = NetnsHost(tmp_path / "machines", packages=packages), World()
    async with host, proxmox_lab(demo(world), world=world) as pve:
        guests = NamespaceGuests(host)
        pve.emulator.machines.backend = guests
        await _started(pve, FINE)
        first = await _finished(pve)
        assert "Runparts: 1 failures (runcmd) in 1 attempted commands" in first["v1"]["errors"][0]
        assert await _read(pve, "/etc/said") == f"{MACHINE}\n"
        assert await _ran(pve, "cloud-init", "status") == (1, "status: error\n", "")
        pid = host.machines[MACHINE].pid
        await _upload(pve, write_image("cidata", {"user-data": BROKEN, "meta-data": b"local-hostname: ship-1\n"}))
        assert (await pve.task("POST", f"{QEMU}/status/reset")).exitstatus == "OK"
        await guests.quiet()
        await _finished(pve)
        assert host.machines[MACHINE].pid != pid
        assert (await pve.task("POST", f"{QEMU}/status/shutdown")).exitstatus == "OK"
        assert (await pve.data("GET", f"{QEMU}/status/current"))["status"] == "stopped"
        assert not host.machines
        # The drive is read when a machine is switched on.
        assert (await pve.task("POST", f"{QEMU}/status/start")).exitstatus == "OK"
        assert (await _finished(pve))["v1"]["errors"] == ["('write-files', Error('Incorrect padding'))"]
    assert leftovers(host) == []


async def _finished(pve: ProxmoxLab) -> Any:
    """The result of cloud-init, once there is one."""
    async with asyncio.timeout(PATIENCE):
        while True:
            answer = await pve.ask("GET", f"{QEMU}/agent/file-read", {"file": RESULT})
            if answer.status == 200:
                return orjson.loads(orjson.loads(answer.body)["data"]["content"])
            await asyncio.sleep(0.1)


async def _read(pve: ProxmoxLab, path: str) -> str:
    return str((await pve.data("GET", f"{QEMU}/agent/file-read", {"file": path}))["content"])
