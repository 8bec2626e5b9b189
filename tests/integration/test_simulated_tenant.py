"""kubectl, unmodified, against a simulated cluster that listens: nodes, cordon, and drains that budgets hold up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from integration.conftest import Tool, _installed
from nagaya.pki import kubeconfig
from nagaya.pki.authority import CertificateAuthority
from nagaya.simulators.tenant.door import Door
from nagaya.simulators.tenant.settings import NodeSettings, TenantSettings, Timing
from nagaya.simulators.tenant.tenant import Tenant
from nagaya.world import World
from support.simulated_tenant import Kubectl as Requests
from support.simulated_tenant import deployment

QUICK = Timing(node_ready=0.05, pod_start=0.05, pod_stop=0.05)
PATIENCE = 200

Kubectl = Callable[..., Awaitable[str]]


@pytest.fixture
async def tenant() -> AsyncIterator[Tenant]:
    """A control plane node, and two workers that are Ready and equally empty: a pod goes where the fewest are."""
    world = World()
    authority = CertificateAuthority.create("kubernetes", world.clock)
    made = await Tenant.start(TenantSettings("drained", authority, timing=QUICK), world)
    try:
        asks = Requests(made, world)
        await made.join(NodeSettings("cp1", control_plane=True))
        await says(asks, "deployments/coredns", "readyReplicas", 2)  # and they stay there
        for name in ("w1", "w2"):
            await made.join(NodeSettings(name, provider_id=f"simulated://{name}", version="v1.36.3"))
        await says(asks, "daemonsets/kube-proxy", "numberReady", 3)
        async with asyncio.timeout(PATIENCE):
            while await asks.taints("w1") | await asks.taints("w2"):
                await asks.wait(0.02)
        yield made
    finally:
        await made.stop()


@pytest.fixture
def tool(tenant: Tenant, tool_home: Path, tmp_path: Path) -> Tool:
    path = tmp_path / "kubeconfig"
    kubeconfig.write(tenant.kubeconfig(), path)
    return Tool(_installed("kubectl"), tool_home, path, "default")


@pytest.fixture
def kubectl(tool: Tool) -> Kubectl:
    """Runs beside the tenant, which lives in this process's event loop."""

    async def run(*arguments: str, input: str | None = None) -> str:
        return await asyncio.to_thread(tool, *arguments, input=input)

    return run


async def says(asks: Requests, what: str, field: str, number: int) -> None:
    """Wait until something of the cluster's own has so many pods."""
    async with asyncio.timeout(PATIENCE):
        while (await asks.get(f"/apis/apps/v1/namespaces/kube-system/{what}")).get("status", {}).get(field) != number:
            await asks.wait(0.02)


async def apply_web(kubectl: Kubectl, tenant: Tenant, least: int) -> None:
    """A deployment of two with a budget, ready."""
    workload = {"apiVersion": "apps/v1", "kind": "Deployment", **deployment("web", 2)}
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"minAvailable": least, "selector": {"matchLabels": {"app": "web"}}},
    }
    await kubectl(
        "apply", "-f", "-", input=json.dumps({"kind": "List", "apiVersion": "v1", "items": [workload, budget]})
    )
    await kubectl("rollout", "status", "deployment/web", f"--timeout={PATIENCE}s")
    await tenant.settled()


async def test_kubectl_shows_nodes_that_say_they_are_simulated(tenant: Tenant, kubectl: Kubectl) -> None:
    lines = (await kubectl("get", "nodes", "-o", "wide")).splitlines()
    assert lines[0].split()[:5] == ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]
    assert [line.split()[:3] for line in lines[1:]] == [
        ["cp1", "Ready", "control-plane"],
        ["w1", "Ready", "<none>"],
        ["w2", "Ready", "<none>"],
    ]
    assert all("Simulated" in line for line in lines[1:])


async def test_cordon_and_uncordon(tenant: Tenant, kubectl: Kubectl) -> None:
    assert "w1 cordoned" in await kubectl("cordon", "w1")
    assert "SchedulingDisabled" in await kubectl("get", "node", "w1")
    await apply_web(kubectl, tenant, 1)
    assert await kubectl("get", "pods", "-o", "jsonpath={.items[*].spec.nodeName}") == "w2 w2"
    assert "w1 uncordoned" in await kubectl("uncordon", "w1")
    assert "SchedulingDisabled" not in await kubectl("get", "node", "w1")


async def test_drain_moves_the_pods_and_keeps_to_the_budget(tenant: Tenant, kubectl: Kubectl) -> None:
    await apply_web(kubectl, tenant, 1)
    assert sorted((await kubectl("get", "pods", "-o", "jsonpath={.items[*].spec.nodeName}")).split()) == ["w1", "w2"]
    said = await kubectl("drain", "w1", "--ignore-daemonsets", "--delete-emptydir-data", f"--timeout={PATIENCE}s")
    assert "evicting pod default/web-" in said
    assert "node/w1 drained" in said
    await kubectl("rollout", "status", "deployment/web", f"--timeout={PATIENCE}s")
    assert await kubectl("get", "pods", "-o", "jsonpath={.items[*].spec.nodeName}") == "w2 w2"
    left = await kubectl("get", "pods", "-A", "--field-selector=spec.nodeName=w1", "-o", "name")
    assert [line.split("-")[0] for line in left.split()] == ["pod/kube"], "only the daemon stays"


@pytest.mark.long("kubectl drain repeats an eviction after five seconds")
async def test_drain_gives_up_when_the_budget_allows_nothing(tenant: Tenant, tool: Tool, kubectl: Kubectl) -> None:
    await apply_web(kubectl, tenant, 2)
    complaint = await asyncio.to_thread(tool.fails, "drain", "w1", "--ignore-daemonsets", "--timeout=6s")
    assert "Cannot evict pod as it would violate the pod's disruption budget." in complaint
    assert len((await kubectl("get", "pods", "-o", "name")).split()) == 2


@pytest.mark.long("waits until kubectl gives up")
async def test_clients_are_refused_and_let_in_again_at_the_same_address(
    tenant: Tenant, tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    await tenant.refuse()
    assert "connection refused" in (await asyncio.to_thread(tool.fails, "get", "nodes"))
    await tenant.recover_api()
    assert "w1" in await asyncio.to_thread(tool, "get", "nodes")
    tenant.hang()
    complaint = await asyncio.to_thread(tool.fails, "get", "nodes", "--request-timeout=1s")
    assert "imeout" in complaint or "deadline" in complaint
    arrived, let_in = asyncio.Event(), Door._pass

    async def notice(door: Door, refusal: OSError) -> None:
        arrived.set()
        await let_in(door, refusal)

    monkeypatch.setattr(Door, "_pass", notice)
    hung = asyncio.create_task(asyncio.to_thread(tool.run, ["get", "nodes"]))
    async with asyncio.timeout(PATIENCE):
        await arrived.wait()
    await tenant.refuse()
    assert (await hung).returncode != 0, "refusing breaks off what hangs"
