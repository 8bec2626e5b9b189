"""How many pods of a budget may be evicted."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from support.in_process import Api, owner

SPACE = "/api/v1/namespaces/default"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
SETS = "/apis/apps/v1/namespaces/default/replicasets"
SELECTOR = {"matchLabels": {"app": "web"}}


async def budget(api: Api, **spec: Any) -> None:
    await api.create(BUDGETS, {"metadata": {"name": "b"}, "spec": {"selector": SELECTOR, **spec}})


async def pod(api: Api, name: str, owners: list[dict[str, Any]] | None = None, *, ready: bool = True) -> None:
    metadata = {"name": name, "labels": {"app": "web"}, "ownerReferences": owners or []}
    container = {"name": "c", "image": "i"}
    await api.create(f"{SPACE}/pods", {"metadata": metadata, "spec": {"containers": [container], "nodeName": "n1"}})
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    await api.merge(f"{SPACE}/pods/{name}/status", {"status": {"phase": "Running", "conditions": conditions}})


async def replica_set(api: Api, replicas: int) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": SELECTOR, "template": template}
    made = await api.create(SETS, {"metadata": {"name": "r"}, "spec": spec})
    return {**owner(made, kind="ReplicaSet", version="apps/v1"), "controller": True}


async def status(api: Api) -> dict[str, Any]:
    found: dict[str, Any] = (await api.must(f"{BUDGETS}/b"))["status"]
    return found


def counts(found: dict[str, Any]) -> tuple[int, int, int, int]:
    return found["expectedPods"], found["desiredHealthy"], found["currentHealthy"], found["disruptionsAllowed"]


async def test_a_budget_without_pods_allows_nothing_and_says_that_it_was_seen(api: Api) -> None:
    await budget(api, minAvailable="1%")
    found = await status(api)
    assert counts(found) == (0, 0, 0, 0)
    assert found["observedGeneration"] == 1
    (condition,) = found["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "DisruptionAllowed",
        "False",
        "InsufficientPods",
    )
    await api.merge(f"{BUDGETS}/b", {"spec": {"minAvailable": "2%"}})
    assert (await status(api))["observedGeneration"] == 2
    assert await api.quiet()


async def test_a_number_is_held_against_the_healthy_pods_there_are(api: Api) -> None:
    await budget(api, minAvailable=2)
    for name in ("a", "b", "c"):
        await pod(api, name)
    await pod(api, "sick", ready=False)
    found = await status(api)
    assert counts(found) == (4, 2, 3, 1)
    assert found["conditions"][0]["reason"] == "SufficientPods"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": "50%"}, (5, 3, 2, 0)),
        ({"maxUnavailable": "50%"}, (5, 2, 2, 0)),
        ({"maxUnavailable": 4}, (5, 1, 2, 1)),
    ],
)
async def test_shares_are_of_what_the_owner_wants_and_not_of_what_there_is(
    api: Api, spec: dict[str, Any], expected: tuple[int, int, int, int]
) -> None:
    reference = await replica_set(api, 5)
    await pod(api, "a", [reference])
    await pod(api, "b", [reference])
    await budget(api, **spec)
    assert counts(await status(api)) == expected


async def test_a_pod_whose_owner_is_unknown_stops_evictions(api: Api) -> None:
    made = await api.config_map("strange")
    await pod(api, "a", [{**owner(made), "controller": True}])
    await budget(api, maxUnavailable=1)
    found = await status(api)
    assert found["disruptionsAllowed"] == 0
    assert found["conditions"][0]["reason"] == "SyncFailed"
    assert found["conditions"][0]["message"] == 'found no controllers for pod "a"'


async def test_an_eviction_counts_until_the_pod_has_gone_or_it_took_too_long(api: Api) -> None:
    await budget(api, minAvailable=1)
    for name in ("a", "b"):
        await pod(api, name)
    assert counts(await status(api)) == (2, 1, 2, 1)
    now = api.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    await api.merge(f"{BUDGETS}/b/status", {"status": {"disruptedPods": {"a": now, "unknown": now}}})
    found = await status(api)
    assert found["disruptedPods"] == {"a": now}
    assert counts(found) == (2, 1, 1, 0)
    api.clock.passed += timedelta(minutes=3)
    await api.merge(f"{SPACE}/pods/b", {"metadata": {"labels": {"more": "x"}}})
    found = await status(api)
    assert "disruptedPods" not in found
    assert counts(found) == (2, 1, 2, 1)


async def test_evictions_are_allowed_as_the_budget_says(api: Api) -> None:
    await budget(api, minAvailable=1)
    for name in ("a", "b"):
        await pod(api, name)

    async def evict(name: str) -> int:
        body = {"metadata": {"name": name}, "deleteOptions": {"gracePeriodSeconds": 0}}
        code, _ = await api.ask("POST", f"{SPACE}/pods/{name}/eviction", body)
        await api.server.settled()
        return code

    assert await evict("a") == 201
    assert await evict("b") == 429
