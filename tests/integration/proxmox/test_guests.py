"""Machines of an emulated data center, made by API calls alone, that boot rendered boot data and become nodes."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
import orjson

from nagaya.api.bootstrap.kubeadm_config_spec import KubeadmConfigSpec
from nagaya.api.contract.bootstrap import SENTINEL
from nagaya.bootstrap.certificate_files import ControlPlaneCertificates
from nagaya.bootstrap.data import render
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.key_pair import KeyPair
from nagaya.simulators.proxmox.control.control import Control
from nagaya.simulators.proxmox.guests.clusters import Clusters
from nagaya.simulators.proxmox.guests.iso9660 import write_image
from nagaya.simulators.proxmox.guests.passive import RESULT
from nagaya.simulators.proxmox.guests.tenants import OUTPUT, TenantGuests
from nagaya.simulators.proxmox.layouts.demo import demo
from nagaya.simulators.proxmox.request import Request
from nagaya.simulators.tenant.settings import TenantSettings
from nagaya.simulators.tenant.tenant import Tenant
from nagaya.world import World
from support.proxmox_lab import ProxmoxLab, proxmox_lab
from support.recorded_boots import machine
from support.simulated_tenant import Kubectl
from support.virtual_run import run, virtual_world

ENDPOINT = "198.51.100.7:6443"
TOKEN = "abcdef.0123456789abcdef"
VMID = 120
NAME = "ship-1"
QEMU = f"/nodes/pve1/qemu/{VMID}"
NODE = f"/api/v1/nodes/{NAME}"
GRACE = 70
"""Seconds after which everybody has noticed that a node is silent."""


def boot_data(role: str = "worker", *, certificates: ControlPlaneCertificates | None = None, **more: Any) -> bytes:
    registration = {
        "name": "{{ ds.meta_data.local_hostname }}",
        "kubeletExtraArgs": [
            {"name": "provider-id", "value": "proxmox://{{ ds.meta_data.instance_id }}"},
            {"name": "node-labels", "value": "deck=upper"},
        ],
    }
    token = {"apiServerEndpoint": ENDPOINT, "token": TOKEN, "unsafeSkipCAVerification": True}
    spec = {
        "clusterConfiguration": {"controlPlaneEndpoint": ENDPOINT},
        "initConfiguration": {"nodeRegistration": registration},
        "joinConfiguration": {"nodeRegistration": registration, "discovery": {"bootstrapToken": token}},
        **more,
    }
    if role == "worker":
        spec = {key: value for key, value in spec.items() if key not in ("clusterConfiguration", "initConfiguration")}
    made = msgspec.convert(spec, KubeadmConfigSpec)
    return render(machine(role, "v1.36.3", made, certificates=certificates or ControlPlaneCertificates()))


def iso(user_data: bytes, name: str, instance: str, network: str) -> bytes:
    meta = f"instance-id: {instance}\nlocal-hostname: {name}\n".encode()
    return write_image("cidata", {"user-data": user_data, "meta-data": meta, "network-config": network.encode()})


def static(mac: str) -> str:
    device = {"match": {"macaddress": mac.lower()}, "set-name": "eth0", "addresses": ["192.0.2.77/24"]}
    return json.dumps({"version": 2, "ethernets": {"eth0": device}})


@dataclass(slots=True)
class Yard:
    """A data center, a cluster beside it, and short ways."""

    lab: ProxmoxLab
    clusters: Clusters
    world: World

    async def made(
        self,
        user_data: bytes,
        *,
        vmid: int = VMID,
        name: str = NAME,
        instance: str = "1234",
        network: bool = False,
    ) -> None:
        """Clone a template, put boot data into a drive, and start."""
        lab, path = self.lab, f"/nodes/pve1/qemu/{vmid}"
        task = await lab.task("POST", "/nodes/pve1/qemu/9001/clone", {"newid": vmid, "name": f"vm-{vmid}"})
        assert task.exitstatus == "OK"
        device = (await lab.data("GET", f"{path}/config"))["net0"]
        mac = device.split("=")[1].split(",")[0]
        image = iso(user_data, name, instance, static(mac) if network else "")
        await self.uploaded(f"boot-{vmid}.iso", image)
        await lab.task("POST", f"{path}/config", {"ide2": f"local:iso/boot-{vmid}.iso,media=cdrom", "memory": "4096"})
        assert (await lab.task("POST", f"{path}/status/start")).exitstatus == "OK"

    async def uploaded(self, name: str, content: bytes) -> None:
        head = (
            '--b\r\nContent-Disposition: form-data; name="content"\r\n\r\niso\r\n'
            f'--b\r\nContent-Disposition: form-data; name="filename"; filename="{name}"\r\n\r\n'
        )
        headers = {**self.lab.ticket(), "content-type": "multipart/form-data; boundary=b"}
        body = head.encode() + content + b"\r\n--b--\r\n"
        path = "/api2/json/nodes/pve1/storage/local/upload"
        answer = await self.lab.emulator.answer(Request("POST", path, "", headers, body, "pve1"))
        assert (await self.lab.ended(orjson.loads(answer.body)["data"])).exitstatus == "OK"

    async def status(self) -> tuple[int, str]:
        """What `cloud-init status` ends with and says."""
        lab = self.lab
        started = await lab.data("POST", f"{QEMU}/agent/exec", {"command": ["cloud-init", "status"]})
        done = await lab.data("GET", f"{QEMU}/agent/exec-status", {"pid": started["pid"]})
        return done["exitcode"], done["out-data"].strip()

    async def file(self, path: str) -> str:
        return str((await self.lab.data("GET", f"{QEMU}/agent/file-read", {"file": path}))["content"])


@asynccontextmanager
async def yard() -> AsyncIterator[Yard]:
    world = virtual_world()
    async with proxmox_lab(demo(world), world=world) as lab:
        clusters = Clusters(world)
        lab.emulator.machines.backend = TenantGuests(world, lab.emulator.pace, clusters)
        yield Yard(lab, clusters, world)


@asynccontextmanager
async def harbour(yard: Yard, token: str = TOKEN) -> AsyncIterator[Kubectl]:
    """A cluster whose control plane is elsewhere, at the address that boot data name."""
    authority = CertificateAuthority.create("kubernetes", yard.world.clock)
    tenant = await Tenant.start(TenantSettings("harbour", authority, listen=False), yard.world)
    try:
        await tenant.prepare()
        api = Kubectl(tenant, yard.world)
        await _token(api, token)
        yard.clusters.add(ENDPOINT, tenant)
        yield api
    finally:
        await tenant.stop()


async def _token(api: Kubectl, token: str = TOKEN) -> None:
    public, _, secret = token.partition(".")
    facts = {
        "token-id": public,
        "token-secret": secret,
        "usage-bootstrap-authentication": "true",
        "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
    }
    await api.create(
        "/api/v1/namespaces/kube-system/secrets",
        {
            "metadata": {"name": f"bootstrap-token-{public}"},
            "type": "bootstrap.kubernetes.io/token",
            "data": {key: base64.b64encode(value.encode()).decode() for key, value in facts.items()},
        },
    )


def addresses(node: Mapping[str, Any]) -> dict[str, str]:
    return {each["type"]: each["address"] for each in node["status"]["addresses"]}


def test_a_machine_becomes_the_node_that_its_boot_data_describe() -> None:
    async def main() -> None:
        async with yard() as here, harbour(here) as api:
            await here.made(boot_data(), network=True)
            assert not await api.exists(NODE)
            await api.wait(10)
            node = await api.get(NODE)
            assert node["spec"]["providerID"] == "proxmox://1234"
            assert node["metadata"]["labels"]["deck"] == "upper"
            assert addresses(node) == {"InternalIP": "192.0.2.77", "Hostname": NAME}
            assert node["status"]["capacity"]["cpu"] == "2"
            assert node["status"]["capacity"]["memory"] == "4Gi"
            assert await api.ready(NAME) == ("True", "KubeletReady")
            assert await here.status() == (0, "status: done")
            assert await here.file(SENTINEL) == "success\n"
            [_, device] = (await here.lab.data("GET", f"{QEMU}/agent/network-get-interfaces"))["result"]
            assert device["ip-addresses"][0]["ip-address"] == "192.0.2.77"
            assert (await here.lab.data("GET", f"{QEMU}/agent/get-host-name"))["result"] == {"host-name": NAME}

    run(main())


def test_a_machine_without_a_fixed_address_has_one_of_the_router() -> None:
    async def main() -> None:
        async with yard() as here, harbour(here) as api:
            await here.made(boot_data())
            await api.wait(10)
            assert addresses(await api.get(NODE))["InternalIP"] == "192.0.2.50"

    run(main())


def test_a_node_is_silent_while_its_machine_is_off_and_comes_back_with_it() -> None:
    async def main() -> None:
        async with yard() as here, harbour(here) as api:
            await here.made(boot_data())
            await api.wait(10)
            for way in ("stop", "shutdown"):
                await here.lab.task("POST", f"{QEMU}/status/{way}")
                await api.wait(GRACE)
                assert (await api.ready(NAME))[0] == "Unknown"
                # A token counts for nothing any more: the kubelet has credentials of its own.
                await api.ask("DELETE", "/api/v1/namespaces/kube-system/secrets/bootstrap-token-abcdef")
                await here.lab.task("POST", f"{QEMU}/status/start")
                await api.wait(20)
                assert (await api.ready(NAME))[0] == "True"

    run(main())


def test_a_reset_or_reboot_is_over_before_anybody_notices() -> None:
    async def main() -> None:
        async with yard() as here, harbour(here) as api:
            await here.made(boot_data())
            await api.wait(10)
            made = (await api.get(NODE))["metadata"]["uid"]
            for way in ("reset", "reboot"):
                before = (await api.get(NODE))["status"]["nodeInfo"]["bootID"]
                await here.lab.task("POST", f"{QEMU}/status/{way}")
                await api.wait(20)
                node = await api.get(NODE)
                assert node["metadata"]["uid"] == made
                assert node["status"]["nodeInfo"]["bootID"] != before
                await api.wait(GRACE)
                assert (await api.ready(NAME))[0] == "True"

    run(main())


def test_a_node_whose_host_loses_its_power_is_silent() -> None:
    async def main() -> None:
        async with yard() as here, harbour(here) as api:
            await here.made(boot_data())
            await api.wait(10)
            Control(here.lab.emulator).power_off("pve1")
            await api.wait(GRACE)
            assert (await api.ready(NAME))[0] == "Unknown"

    run(main())


def test_a_machine_that_is_suspended_is_silent_until_it_goes_on() -> None:
    async def main() -> None:
        async with yard() as here, harbour(here) as api:
            await here.made(boot_data())
            await api.wait(10)
            await here.lab.task("POST", f"{QEMU}/status/suspend")
            await api.wait(GRACE)
            assert (await api.ready(NAME))[0] == "Unknown"
            await here.lab.task("POST", f"{QEMU}/status/resume")
            await api.wait(20)
            assert (await api.ready(NAME))[0] == "True"

    run(main())


def test_another_machine_of_the_same_number_joins_anew() -> None:
    async def main() -> None:
        async with yard() as here, harbour(here) as api:
            await here.made(boot_data())
            await api.wait(10)
            await here.lab.task("POST", f"{QEMU}/status/stop")
            assert (await here.lab.task("DELETE", QEMU)).exitstatus == "OK"
            await api.delete(NODE)
            await api.wait(GRACE)
            assert not await api.exists(NODE)
            await here.made(boot_data(), instance="5678")
            await api.wait(10)
            assert (await api.get(NODE))["spec"]["providerID"] == "proxmox://5678"

    run(main())


def test_kubeadm_waits_for_a_cluster_that_is_not_there_yet_and_gives_up_in_the_end() -> None:
    async def main() -> None:
        async with yard() as here:
            await here.made(boot_data())
            async with harbour(here) as api:
                here.clusters.remove(ENDPOINT)
                await api.wait(200)
                assert await here.status() == (0, "status: running")
                here.clusters.add(ENDPOINT, api.tenant)
                await api.wait(10)
                assert (await api.ready(NAME))[0] == "True"
        async with yard() as here, harbour(here) as api:
            await api.tenant.refuse()
            await here.made(boot_data())
            await api.wait(400)
            assert await here.status() == (1, "status: error")
            assert "nothing answers at 198.51.100.7:6443" in await here.file(OUTPUT)

    run(main())


def test_a_machine_that_is_refused_says_so_as_cloud_init_does() -> None:
    async def main() -> None:
        async with yard() as here, harbour(here, token="zzzzzz.0123456789abcdef") as api:
            await here.made(boot_data())
            await api.wait(10)
            assert not await api.exists(NODE)
            assert await here.status() == (1, "status: error")
            [said] = json.loads(await here.file(RESULT))["v1"]["errors"]
            assert said == "('scripts-user', RuntimeError('Runparts: 1 failures (runcmd) in 1 attempted commands'))"
            assert "the bootstrap token abcdef is not known to the cluster" in await here.file(OUTPUT)
            # Boot data are used once, whatever became of it.
            await here.lab.task("POST", f"{QEMU}/status/reset")
            await api.wait(20)
            assert await here.status() == (0, "status: done")
            assert not await api.exists(NODE)

    run(main())


def test_commands_after_kubeadm_hide_that_it_failed() -> None:
    async def main() -> None:
        async with yard() as here, harbour(here, token="zzzzzz.0123456789abcdef") as api:
            await here.made(boot_data(postKubeadmCommands=["echo bye"]))
            await api.wait(10)
            assert await here.status() == (0, "status: done")
            answer = await here.lab.ask("GET", f"{QEMU}/agent/file-read", {"file": SENTINEL})
            assert "No such file or directory" in answer.reason

    run(main())


def test_machines_that_initialize_and_join_a_control_plane_are_it() -> None:
    async def main() -> None:
        async with yard() as here:
            authority = CertificateAuthority.create("kubernetes", here.world.clock)
            pair = KeyPair(authority.certificate_pem, authority.key_pem)
            files = ControlPlaneCertificates(cluster_authority=pair)
            await here.made(boot_data("init", certificates=files))
            assert here.clusters.at(ENDPOINT) is None
            await asyncio.sleep(10)
            cluster = here.clusters.at(ENDPOINT)
            assert cluster is not None
            api = Kubectl(cluster.tenant, here.world)
            assert cluster.tenant.settings.authority.certificate_pem == authority.certificate_pem
            node = await api.get(NODE)
            assert "node-role.kubernetes.io/control-plane" in node["metadata"]["labels"]
            assert await cluster.answers()
            await _token(api)
            await here.made(boot_data("join", certificates=files), vmid=121, name="ship-2", instance="5678")
            await api.wait(20)
            assert (await api.ready("ship-2"))[0] == "True"
            await here.lab.task("POST", f"{QEMU}/status/stop")
            assert await cluster.answers()
            await here.lab.task("POST", "/nodes/pve1/qemu/121/status/stop")
            assert not await cluster.answers()
            await here.lab.task("POST", f"{QEMU}/status/start")
            await api.wait(20)
            assert (await api.ready(NAME))[0] == "True"

    run(main())
