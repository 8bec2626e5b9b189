"""Whatever happens to a cluster, it is whole again once everything is well: random mishaps from a seed."""

from __future__ import annotations

import random

import pytest

from nagaya.simulators.tenant.settings import Fault, NodeSettings
from support.simulated_tenant import Kubectl, Make, deployment, is_ready

pytestmark = pytest.mark.slow

NODES = "/api/v1/nodes"
APPS = "/apis/apps/v1/namespaces/default"


async def mishap(api: Kubectl, dice: random.Random) -> None:
    """One of the things that happen."""
    name = dice.choice(["n1", "n2", "n3"])
    there = await api.exists(f"{NODES}/{name}")
    pods = list(await api.pods())
    match dice.randrange(8):
        case 0 if there:
            await api.tenant.leave(name)
        case 1 | 2:
            await api.tenant.join(NodeSettings(name))
        case 3 if there:
            try:
                api.tenant.fail(name, dice.choice(list(Fault)))
            except LookupError:
                await api.tenant.join(NodeSettings(name))
        case 4 if there:
            await api.patch(f"{NODES}/{name}", {"spec": {"unschedulable": dice.choice([True, None])}})
        case 5 if pods:
            await api.evict("default", dice.choice(pods))
        case 6 if there:
            await api.delete(f"{NODES}/{name}")
        case 7:
            await api.patch(f"{APPS}/deployments/web", {"spec": {"replicas": dice.randrange(1, 6)}})
        case _:
            pass
    await api.wait(dice.choice([0.0, 0.5, 5.0, 60.0, 400.0]))


@pytest.mark.parametrize("number", range(6))
async def test_a_cluster_is_whole_again_when_everything_is_well(
    make: Make, number: int, caplog: pytest.LogCaptureFixture
) -> None:
    dice = random.Random(number)
    api = await make(3)
    await api.create(f"{APPS}/deployments", deployment("web", 3))
    budget = {"metadata": {"name": "web"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}}
    await api.create("/apis/policy/v1/namespaces/default/poddisruptionbudgets", budget)
    for _ in range(25):
        await mishap(api, dice)
    for name in ("n1", "n2", "n3"):
        await api.tenant.join(NodeSettings(name))
        api.tenant.recover(name)
        await api.patch(f"{NODES}/{name}", {"spec": {"unschedulable": None}})
    await api.wait(120)
    for name in ("n1", "n2", "n3"):
        assert await api.ready(name) == ("True", "KubeletReady"), f"seed {number}"
        assert await api.taints(name) == set(), f"seed {number}"
    pods = await api.pods()
    wanted = (await api.get(f"{APPS}/deployments/web"))["spec"]["replicas"]
    assert len(pods) == wanted, f"seed {number}"
    assert all(is_ready(found) for found in pods.values()), f"seed {number}"
    status = (await api.get("/apis/policy/v1/namespaces/default/poddisruptionbudgets/web"))["status"]
    assert (status["currentHealthy"], status["disruptionsAllowed"]) == (wanted, wanted - 1), f"seed {number}"
    before = api.tenant.server.store.revision
    await api.wait(60)
    events = api.tenant.server.store.watch(None, before).poll()
    assert {event.table for event in events} <= {"coordination.k8s.io/leases", "nodes"}, "it has come to rest"
    assert not caplog.records, "no component has stumbled on the way"
