"""A simulated cluster as a whole: machines come and go, and what the API shows of them."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from nagaya.pki.authority import CertificateAuthority
from nagaya.simulators.tenant.pace import Pace
from nagaya.simulators.tenant.settings import (
    CLOUD_UNINITIALIZED,
    CONTROL_PLANE,
    Fault,
    NodeSettings,
    Taint,
    TenantSettings,
)
from nagaya.simulators.tenant.shared import Shared
from nagaya.simulators.tenant.tenant import Tenant
from nagaya.world import World
from support.simulated_tenant import Kubectl, Make, is_ready
from support.virtual_time import LoopClock

pytestmark = pytest.mark.slow

NODES = "/api/v1/nodes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
SYSTEM = "/api/v1/namespaces/kube-system"
APPS = "/apis/apps/v1/namespaces/kube-system"


async def test_a_machine_that_joins_becomes_a_ready_node_that_says_it_is_simulated(make: Make) -> None:
    api = await make()
    await api.tenant.join(NodeSettings("n1", provider_id="simulated://n1", version="v1.35.4", labels={"pool": "a"}))
    assert await api.ready("n1") == ("False", "KubeletNotReady")
    await api.wait(2)
    node = await api.get(f"{NODES}/n1")
    assert await api.ready("n1") == ("True", "KubeletReady")
    assert await api.taints("n1") == set()
    assert node["spec"]["providerID"] == "simulated://n1"
    assert node["metadata"]["labels"]["pool"] == "a"
    assert node["metadata"]["labels"]["simulated.nagaya.dev/node"] == "true"
    assert node["status"]["nodeInfo"]["osImage"] == "Simulated"
    assert node["status"]["nodeInfo"]["kubeletVersion"] == "v1.35.4"
    lease = await api.get(f"{LEASES}/n1")
    assert lease["spec"]["holderIdentity"] == "n1"
    assert lease["metadata"]["ownerReferences"][0]["uid"] == node["metadata"]["uid"]


async def test_joining_again_changes_nothing(make: Make) -> None:
    api = await make(1)
    before = api.tenant.server.store.revision
    await api.tenant.join(NodeSettings("n1", provider_id="simulated://n1"))
    assert api.tenant.server.store.revision == before


async def test_a_reboot_with_a_new_version_keeps_the_node(make: Make) -> None:
    api = await make(1)
    uid = (await api.get(f"{NODES}/n1"))["metadata"]["uid"]
    await api.tenant.join(NodeSettings("n1", provider_id="simulated://n1", version="v1.37.1"))
    await api.wait(2)
    node = await api.get(f"{NODES}/n1")
    assert node["metadata"]["uid"] == uid
    assert node["status"]["nodeInfo"]["kubeletVersion"] == "v1.37.1"
    assert await api.ready("n1") == ("True", "KubeletReady")


async def test_taints_of_registration_stay_until_somebody_takes_them_off(make: Make) -> None:
    api = await make()
    taints = [Taint("node.cluster.x-k8s.io/uninitialized", "NoSchedule")]
    await api.tenant.join(NodeSettings("n1", taints=taints, external_cloud=True))
    await api.wait(5)
    expected = {"node.cluster.x-k8s.io/uninitialized:NoSchedule", f"{CLOUD_UNINITIALIZED}:NoSchedule"}
    assert await api.taints("n1") == expected
    await api.patch(f"{NODES}/n1", {"spec": {"taints": None}})
    await api.wait(60)
    assert await api.taints("n1") == set()


async def test_a_reboot_leaves_the_addresses_that_the_cloud_has_set(make: Make) -> None:
    api = await make()
    await api.tenant.join(NodeSettings("n1", external_cloud=True))
    addresses = [{"type": "InternalIP", "address": "192.0.2.7"}]
    code, answer = await api.ask(
        "PATCH", f"{NODES}/n1/status", {"status": {"addresses": addresses}}, "application/merge-patch+json"
    )
    assert code == 200, answer
    await api.tenant.join(NodeSettings("n1", external_cloud=True, version="v1.37.1"))
    assert (await api.get(f"{NODES}/n1"))["status"]["addresses"] == addresses


async def test_leases_are_renewed_and_an_unchanged_status_is_posted_now_and_then(make: Make) -> None:
    api = await make(1)
    first, node = await api.get(f"{LEASES}/n1"), await api.get(f"{NODES}/n1")
    await api.wait(21)
    second = await api.get(f"{LEASES}/n1")
    assert int(second["metadata"]["resourceVersion"]) > int(first["metadata"]["resourceVersion"])
    assert second["spec"]["renewTime"] > first["spec"]["renewTime"]
    assert (await api.get(f"{NODES}/n1"))["metadata"]["resourceVersion"] == node["metadata"]["resourceVersion"]
    await api.wait(300)
    later = await api.get(f"{NODES}/n1")
    assert later["status"]["conditions"][0]["lastHeartbeatTime"] > node["status"]["conditions"][0]["lastHeartbeatTime"]
    assert (
        later["status"]["conditions"][0]["lastTransitionTime"] == node["status"]["conditions"][0]["lastTransitionTime"]
    )


async def test_many_nodes_of_a_process_renew_their_leases_more_slowly_and_say_so(make: Make) -> None:
    pace = Pace(per_second=0.1)
    shared = Shared(pace)
    api, other = await make(3, shared=shared), await make(3, shared=shared)
    assert pace.nodes == 6
    assert pace.interval == 60
    before = api.tenant.server.store.revision
    await api.wait(600)
    renewals = api.tenant.server.store.revision - before
    assert 27 <= renewals <= 33 + 3
    assert (await api.get(f"{LEASES}/n1"))["spec"]["leaseDurationSeconds"] == 240
    await other.tenant.stop()
    assert pace.nodes == 3


async def test_a_control_plane_node_brings_what_kubeadm_leaves_behind(make: Make) -> None:
    api = await make()
    assert not await api.exists(f"{SYSTEM}/configmaps/kubeadm-config")
    await api.tenant.join(NodeSettings("cp1", control_plane=True))
    await api.tenant.join(NodeSettings("n1"))
    await api.wait(10)
    assert f"{CONTROL_PLANE}:NoSchedule" in await api.taints("cp1")
    config = await api.get(f"{SYSTEM}/configmaps/kubeadm-config")
    assert "kubernetesVersion: v1.36.3" in config["data"]["ClusterConfiguration"]
    pods = await api.pods("kube-system")
    for component in ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"):
        found = pods[f"{component}-cp1"]
        assert is_ready(found)
        assert found["metadata"]["labels"] == {"component": component, "tier": "control-plane"}
    assert (await api.get(f"{APPS}/daemonsets/kube-proxy"))["status"]["numberReady"] == 2
    assert (await api.get(f"{APPS}/deployments/coredns"))["status"]["readyReplicas"] == 2


async def test_a_deleted_mirror_pod_comes_back_and_all_go_with_their_node(make: Make) -> None:
    api = await make()
    await api.tenant.join(NodeSettings("cp1", control_plane=True))
    await api.wait(5)
    before = (await api.pods("kube-system"))["etcd-cp1"]["metadata"]["uid"]
    await api.delete(f"{SYSTEM}/pods/etcd-cp1")
    await api.wait(5)
    after = (await api.pods("kube-system"))["etcd-cp1"]
    assert after["metadata"]["uid"] != before
    assert is_ready(after)
    await api.tenant.leave("cp1")
    await api.delete(f"{NODES}/cp1")
    await api.wait(60)
    pods = await api.pods("kube-system")
    assert not [name for name in pods if name.endswith("-cp1")]
    assert not await api.exists(f"{LEASES}/cp1")


async def test_a_deleted_node_whose_machine_lives_stays_away_until_it_joins_again(make: Make) -> None:
    api = await make(1)
    await api.delete(f"{NODES}/n1")
    await api.wait(120)
    assert not await api.exists(f"{NODES}/n1")
    assert not await api.exists(f"{LEASES}/n1")
    await api.tenant.join(NodeSettings("n1"))
    await api.wait(2)
    assert await api.ready("n1") == ("True", "KubeletReady")


async def test_a_machine_that_is_gone_leaves_its_node_unknown(make: Make) -> None:
    api = await make(1)
    await api.tenant.leave("n1")
    await api.wait(45)
    assert await api.ready("n1") == ("True", "KubeletReady")
    await api.wait(10)
    assert await api.ready("n1") == ("Unknown", "NodeStatusUnknown")
    expected = {f"node.kubernetes.io/unreachable:{effect}" for effect in ("NoSchedule", "NoExecute")}
    assert await api.taints("n1") == expected
    with pytest.raises(LookupError, match="has no machine 'n1'"):
        api.tenant.fail("n1", Fault.DISK_PRESSURE)


async def test_failing_or_recovering_an_unknown_machine_is_an_error(make: Make) -> None:
    api = await make()
    with pytest.raises(LookupError, match="Let it join first"):
        api.tenant.recover("nobody")


async def test_an_idle_cluster_writes_only_heartbeats(make: Make) -> None:
    api = await make(2)
    await api.tenant.join(NodeSettings("cp1", control_plane=True))
    await api.wait(20)
    since = api.tenant.server.store.revision
    await api.wait(280)
    watch = api.tenant.server.store.watch(None, since)
    tables: set[str] = set()
    while events := watch.poll():
        tables |= {event.table for event in events}
    assert tables <= {"coordination.k8s.io/leases", "nodes"}


async def test_a_tenant_takes_clients_of_its_authority_and_tells_its_version(make: Make) -> None:
    api = await make(version="v1.35.4")
    body = await api.get("/version")
    assert body["gitVersion"].startswith("v1.35.4+")
    assert (body["major"], body["minor"]) == ("1", "35")
    code, answer = await api.ask("GET", NODES)
    assert code == 200, answer


async def test_the_same_seed_gives_the_same_cluster() -> None:
    async def run() -> list[tuple[Any, ...]]:
        world = World(LoopClock(), random.Random(3))
        authority = CertificateAuthority.create("kubernetes", world.clock)
        tenant = await Tenant.start(TenantSettings("t", authority, listen=False), world)
        for number in range(3):
            await tenant.join(NodeSettings(f"n{number}"))
        await tenant.join(NodeSettings("cp", control_plane=True))
        await asyncio.sleep(120)
        await tenant.settled()
        pods = await Kubectl(tenant, world).items("/api/v1/pods")
        await tenant.stop()
        return [(pod["metadata"]["name"], pod["metadata"]["uid"], pod["spec"]["nodeName"]) for pod in pods]

    assert await run() == await run()
