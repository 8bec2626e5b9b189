"""Simulated machines whose boot data are for kubeadm: they do in the tenant what kubeadm would."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest
import yaml

from nagaya.api.bootstrap.kubeadm_config_spec import KubeadmConfigSpec
from nagaya.api.simulated.simulated_machine import SIMULATED_MACHINES
from nagaya.bootstrap.certificate_files import ControlPlaneCertificates
from nagaya.bootstrap.data import render
from nagaya.bootstrap.kubeadm_api import ClusterFacts
from nagaya.infrastructure.simulated.transports import dialer
from nagaya.kube.connection import Connection
from nagaya.kube.etcd.client import client_tls
from nagaya.kube.etcd.pool import EtcdPool
from nagaya.kube.kubeconfig import parse_text
from nagaya.kube.streams.stream import Dialer
from nagaya.pki import keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.key_pair import KeyPair
from nagaya.pki.kubeadm.inputs import Inputs
from nagaya.pki.kubeadm.issuing import new_leaf
from nagaya.pki.kubeadm.leaves import API_SERVER_ETCD_CLIENT
from support.recorded_boots import machine as boot_of
from support.tenant_etcd import TOKEN, token_secret
from unit.infrastructure.simulated.yard import CLUSTER, NAMESPACE, SECRETS, Yard, yard

pytestmark = pytest.mark.slow

SYSTEM = "/api/v1/namespaces/kube-system"
DISCOVERY = {"bootstrapToken": {"token": TOKEN, "unsafeSkipCAVerification": True}}


@pytest.fixture
async def here() -> AsyncIterator[Yard]:
    async with yard() as made:
        yield made


class Kubeadm:
    """A cluster whose machines have boot data as the bootstrap provider makes them."""

    def __init__(self, here: Yard) -> None:
        self.here = here
        self.etcd = CertificateAuthority.create("etcd-ca", here.world.clock)
        self._certificates = ControlPlaneCertificates(
            etcd_authority=KeyPair(self.etcd.certificate_pem, self.etcd.key_pem)
        )

    async def prepare(self, **simulated: Any) -> None:
        await self.here.cluster(**simulated)
        await self.here.provisioned()

    async def boots(self, name: str, role: str, **spec: Any) -> None:
        """A machine in one of the roles init, join and worker."""
        if role != "init":
            spec.setdefault("joinConfiguration", {}).setdefault("discovery", DISCOVERY)
        facts = ClusterFacts(CLUSTER.name, "harbour.example.com:6443", pod_subnet="10.200.0.0/16")
        data = boot_of(
            role,
            "v1.36.3",
            msgspec.convert(spec, KubeadmConfigSpec),
            cluster=facts,
            certificates=self._certificates,
        )
        await self.secret(name, render(data))
        await self.here.machine(name, control_plane=role != "worker", data=f"{name}-boot")
        await self.here.wait(3)

    async def secret(self, name: str, data: bytes) -> None:
        content = {
            "metadata": {"namespace": NAMESPACE, "name": f"{name}-boot"},
            "data": {"value": base64.b64encode(data).decode()},
        }
        await self.here.user.create(SECRETS, content)

    async def tokens(self, lasting: float = 900.0) -> None:
        """A bootstrap token, as the bootstrap provider puts it into the tenant."""
        end = self.here.world.clock.now() + timedelta(seconds=lasting)
        await self.here.kubectl().create(f"{SYSTEM}/secrets", token_secret(f"{end:%Y-%m-%dT%H:%M:%SZ}"))

    async def members(self) -> list[tuple[str, bool]]:
        """Names of etcd's members, and whether they vote, asked as a controller in this process does."""
        tenant = self.here.tenants.get(CLUSTER)
        assert tenant is not None
        connection = parse_text(yaml.safe_dump(tenant.kubeconfig()).encode(), source="the tenant's")
        pair = new_leaf(API_SERVER_ETCD_CLIENT, self.etcd, Inputs(), keys.generate(), self.here.world.clock)
        context = client_tls(self.etcd.certificate_pem, pair.certificate, pair.key, check_name=False)
        nodes = [each["metadata"]["name"] for each in await self.here.kubectl().items("/api/v1/nodes")]
        members = EtcdPool(dialer(self.here.tenants, over_the_network)(connection), context)
        async with await members.leader([each for each in nodes if each.startswith("cp")]) as leader:
            found = await leader.client.cluster.members()
        return sorted((each.name, not each.is_learner) for each in found)


def over_the_network(connection: Connection) -> Dialer:
    raise AssertionError(f"{connection.server} is not a cluster of this process")


@pytest.fixture
async def kubeadm(here: Yard) -> Kubeadm:
    return Kubeadm(here)


async def test_the_first_machine_leaves_what_kubeadm_init_does(here: Yard, kubeadm: Kubeadm) -> None:
    await kubeadm.prepare()
    await kubeadm.boots(
        "cp-1",
        "init",
        clusterConfiguration={"imageRepository": "images.example.com", "dns": {"imageTag": "v9"}},
        initConfiguration={"nodeRegistration": {"taints": [], "kubeletExtraArgs": [arg("node-labels", "a=b,c=")]}},
    )
    assert await here.says("cp-1", "NodeJoined") == ("True", "Joined")
    api = here.kubectl()
    written = (await api.get(f"{SYSTEM}/configmaps/kubeadm-config"))["data"]["ClusterConfiguration"]
    configuration = yaml.safe_load(written)
    assert configuration["controlPlaneEndpoint"] == "harbour.example.com:6443"
    assert configuration["networking"]["podSubnet"] == "10.200.0.0/16"
    assert configuration["networking"]["dnsDomain"] == "cluster.local"
    assert configuration["kubernetesVersion"] == "v1.36.3"
    assert configuration["etcd"] == {"local": {"dataDir": "/var/lib/etcd"}}
    node = await api.get("/api/v1/nodes/cp-1")
    assert "taints" not in node["spec"]
    assert node["metadata"]["labels"]["a"] == "b"
    assert node["metadata"]["labels"]["node-role.kubernetes.io/control-plane"] == ""
    pods = await api.pods("kube-system")
    assert pods["kube-apiserver-cp-1"]["spec"]["containers"][0]["image"] == "images.example.com/kube-apiserver:v1.36.3"
    assert pods["etcd-cp-1"]["spec"]["containers"][0]["image"] == "images.example.com/etcd:3.6.8-0"
    core_dns = await api.get("/apis/apps/v1/namespaces/kube-system/deployments/coredns")
    assert core_dns["spec"]["template"]["spec"]["containers"][0]["image"] == "images.example.com/coredns:v9"
    info = (await api.get("/api/v1/namespaces/kube-public/configmaps/cluster-info"))["data"]["kubeconfig"]
    assert yaml.safe_load(info)["clusters"][0]["cluster"]["server"] == "https://harbour.example.com:6443"
    assert await kubeadm.members() == [("cp-1", True)]


def arg(name: str, value: str) -> dict[str, str]:
    return {"name": name, "value": value}


async def test_phases_that_are_left_out_leave_nothing(here: Yard, kubeadm: Kubeadm) -> None:
    await kubeadm.prepare()
    await kubeadm.boots("cp-1", "init", initConfiguration={"skipPhases": ["addon/kube-proxy"]})
    assert not await here.kubectl().exists("/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy")
    assert await here.kubectl().exists("/apis/apps/v1/namespaces/kube-system/deployments/coredns")


async def test_machines_join_with_a_token_and_control_planes_bring_a_member_of_etcd(
    here: Yard, kubeadm: Kubeadm
) -> None:
    await kubeadm.prepare()
    await kubeadm.boots("cp-1", "init")
    await kubeadm.tokens()
    for name in ("cp-2", "cp-3"):
        await kubeadm.boots(name, "join")
    await kubeadm.boots("w", "worker")
    assert {name: await here.says(name, "NodeJoined") for name in ("cp-2", "cp-3", "w")} == dict.fromkeys(
        ("cp-2", "cp-3", "w"), ("True", "Joined")
    )
    assert await kubeadm.members() == [("cp-1", True), ("cp-2", True), ("cp-3", True)]
    assert await here.kubectl().taints("cp-2") == {"node-role.kubernetes.io/control-plane:NoSchedule"}
    assert await here.kubectl().taints("w") == {"node.cluster.x-k8s.io/uninitialized:NoSchedule"}


async def test_a_machine_whose_token_has_expired_never_joins_and_says_so(here: Yard, kubeadm: Kubeadm) -> None:
    await kubeadm.prepare()
    await kubeadm.boots("cp-1", "init")
    await kubeadm.tokens(lasting=1)
    await kubeadm.boots("w", "worker")
    await here.wait(600)
    assert await here.says("w", "NodeJoined") == ("False", "JoinRefused")
    message = next(each.message for each in (await here.host("w")).status.conditions if each.type == "NodeJoined")
    assert message in (
        "kubeadm join was refused: the bootstrap token abcdef has expired.",
        "kubeadm join was refused: the bootstrap token abcdef is not known to the cluster, or not any more.",
    )
    assert "0123456789abcdef" not in str(await here.host("w"))
    assert not await here.kubectl().exists("/api/v1/nodes/w")


async def test_a_machine_whose_token_was_revoked_never_joins(here: Yard, kubeadm: Kubeadm) -> None:
    await kubeadm.prepare()
    await kubeadm.boots("cp-1", "init")
    await kubeadm.tokens()
    await here.kubectl().delete(f"{SYSTEM}/secrets/bootstrap-token-abcdef")
    await kubeadm.boots("cp-2", "join")
    assert await here.says("cp-2", "NodeJoined") == ("False", "JoinRefused")
    assert await kubeadm.members() == [("cp-1", True)]


async def test_a_machine_that_pins_another_authority_does_not_join(here: Yard, kubeadm: Kubeadm) -> None:
    await kubeadm.prepare()
    await kubeadm.boots("cp-1", "init")
    await kubeadm.tokens()
    pinned = {"bootstrapToken": {"token": TOKEN, "caCertHashes": [f"sha256:{'0f' * 32}"]}}
    await kubeadm.boots("w", "worker", joinConfiguration={"discovery": pinned})
    assert await here.says("w", "NodeJoined") == ("False", "JoinRefused")


async def test_kubeadm_join_waits_for_a_cluster_that_answers(here: Yard, kubeadm: Kubeadm) -> None:
    await kubeadm.prepare()
    await kubeadm.boots("cp-2", "join")
    assert await here.says("cp-2", "NodeJoined") == ("False", "WaitingForControlPlane")
    assert here.tenants.get(CLUSTER) is None


async def test_a_machine_that_is_deleted_leaves_its_member_behind(here: Yard, kubeadm: Kubeadm) -> None:
    await kubeadm.prepare()
    await kubeadm.boots("cp-1", "init")
    await kubeadm.tokens()
    await kubeadm.boots("cp-2", "join")
    await kubeadm.boots("cp-3", "join")
    await here.delete(SIMULATED_MACHINES, "cp-1")
    await here.wait(5)
    assert [name for name, _ in await kubeadm.members()] == ["cp-1", "cp-2", "cp-3"]


async def test_a_fault_of_etcd_is_a_fault_of_its_machine(here: Yard, kubeadm: Kubeadm) -> None:
    await kubeadm.prepare()
    await kubeadm.boots("cp-1", "init")
    await here.order(SIMULATED_MACHINES, "cp-1", faults=[{"stage": "Run", "mode": "EtcdDown"}])
    await here.wait(1)
    assert not (await here.kubectl().pods("kube-system"))["etcd-cp-1"]["status"]["containerStatuses"][0]["ready"]
    await here.order(SIMULATED_MACHINES, "cp-1", faults=None)
    await here.wait(1)
    assert await kubeadm.members() == [("cp-1", True)]


async def test_after_a_restart_machines_return_without_a_token(here: Yard, kubeadm: Kubeadm) -> None:
    await kubeadm.prepare()
    await kubeadm.boots("cp-1", "init")
    await kubeadm.tokens()
    for name in ("cp-2", "cp-3"):
        await kubeadm.boots(name, "join")
    await kubeadm.boots("w", "worker")
    await here.restart()
    await here.wait(5)
    assert await kubeadm.members() == [("cp-1", True), ("cp-2", True), ("cp-3", True)]
    assert sorted(each["metadata"]["name"] for each in await here.kubectl().items("/api/v1/nodes")) == [
        "cp-1",
        "cp-2",
        "cp-3",
        "w",
    ]


async def test_boot_data_that_do_not_mention_kubeadm_are_nobodys_business(here: Yard, kubeadm: Kubeadm) -> None:
    await kubeadm.prepare()
    for name in ("cp", "w"):
        await kubeadm.secret(name, b"#!/bin/sh\nreboot\n")
        await here.machine(name, control_plane=name == "cp", data=f"{name}-boot")
    await here.wait(3)
    assert await here.says("w", "NodeJoined") == ("True", "Joined")


async def test_components_take_as_long_as_the_cluster_says(here: Yard, kubeadm: Kubeadm) -> None:
    await kubeadm.prepare(nodes={"staticPodSeconds": 30})
    await kubeadm.boots("cp-1", "init")
    await here.wait(10)
    assert (await here.kubectl().pods("kube-system"))["etcd-cp-1"]["status"]["phase"] == "Pending"
    await here.wait(30)
    assert (await here.kubectl().pods("kube-system"))["etcd-cp-1"]["status"]["phase"] == "Running"
