"""Giving pods a node, asking them to go, and how they go."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.builtins.kinds import pod_actions
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import ApiError
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.web.negotiation import Wanted
from nagaya.apiserver.web.request import Request
from nagaya.apiserver.web.request_info import RequestInfo
from support.core_kinds import NAMESPACE, CoreKinds

PODS = GroupResource("", "pods")
LABELS = {"app": "web"}


def pod(name: str = "it", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


async def act(kinds: CoreKinds, action: str, body: dict[str, Any], name: str = "it", query: str = "") -> Any:
    resource = kinds.resource("pods")
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/{name}/{action}{query}"
    request = Request.make("POST", path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    info = RequestInfo(
        path=path, verb="create", is_resource=True, namespace=NAMESPACE, resource="pods", subresource=action, name=name
    )
    call = Call(kinds.backend, request, info, User("tester"), resource, resource.subresources[action])
    response = await pod_actions.handlers()[PODS][action]["create"](call, Wanted())
    return json.loads(response.body)


def binding(node: str = "n1", name: str = "it", **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **metadata}, "target": {"kind": "Node", "name": node}}


def eviction(name: str = "it", **options: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, **({"deleteOptions": options} if options else {})}


async def running(kinds: CoreKinds, name: str = "it") -> None:
    await kinds.create("pods", pod(name, nodeName="n1"))
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await kinds.change("pods", name, {"status": ready}, "status")


async def budget(kinds: CoreKinds, **status: Any) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": LABELS}}
    await kinds.create("poddisruptionbudgets.policy", {"metadata": {"name": "p"}, "spec": spec})
    if status:
        seen = {"observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, **status}
        await kinds.change("poddisruptionbudgets.policy", "p", {"status": seen}, "status")


async def test_a_pod_is_given_a_node_once() -> None:
    kinds = CoreKinds()
    await kinds.create("pods", pod())
    assert (await act(kinds, "binding", binding(annotations={"why": "space"})))["status"] == "Success"
    bound = kinds.get("pods", "it")
    assert bound is not None
    assert bound["spec"]["nodeName"] == "n1"
    assert bound["metadata"]["annotations"] == {"why": "space"}
    assert [(each["type"], each["status"]) for each in bound["status"]["conditions"]] == [("PodScheduled", "True")]
    with pytest.raises(ApiError, match='already assigned to node "n1"'):
        await act(kinds, "binding", binding("n2"))


async def test_a_dry_run_gives_no_node() -> None:
    kinds = CoreKinds()
    await kinds.create("pods", pod())
    await act(kinds, "binding", binding(), query="?dryRun=All")
    assert "nodeName" not in (kinds.get("pods", "it") or {})["spec"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (binding(name="other"), "name in URL does not match name in Binding object"),
        (binding(node=""), "target.name: Required value"),
        (binding(uid="another"), "Precondition failed: UID in precondition: another"),
    ],
)
async def test_a_binding_that_is_not_meant_for_the_pod_is_refused(body: dict[str, Any], message: str) -> None:
    kinds = CoreKinds()
    await kinds.create("pods", pod())
    with pytest.raises(ApiError, match=message):
        await act(kinds, "binding", body)


async def test_a_gated_pod_gets_no_node() -> None:
    kinds = CoreKinds()
    await kinds.create("pods", pod(schedulingGates=[{"name": "wait"}]))
    with pytest.raises(ApiError, match=r"non-empty \.spec\.schedulingGates"):
        await act(kinds, "binding", binding())


async def test_an_eviction_marks_the_pod_and_begins_its_grace_period() -> None:
    kinds = CoreKinds()
    await running(kinds)
    await act(kinds, "eviction", eviction())
    leaving = kinds.get("pods", "it")
    assert leaving is not None
    assert leaving["metadata"]["deletionGracePeriodSeconds"] == 30
    assert leaving["status"]["conditions"][-1]["reason"] == "EvictionByEvictionAPI"


async def test_a_pod_without_a_node_goes_at_once() -> None:
    kinds = CoreKinds()
    await kinds.create("pods", pod())
    await act(kinds, "eviction", eviction())
    assert kinds.get("pods", "it") is None


async def test_a_budget_is_charged_for_an_eviction() -> None:
    kinds = CoreKinds()
    await running(kinds)
    await budget(kinds, disruptionsAllowed=1, currentHealthy=2)
    await act(kinds, "eviction", eviction(), query="?dryRun=All")
    before = kinds.get("poddisruptionbudgets.policy", "p")
    assert before is not None
    assert before["status"]["disruptionsAllowed"] == 1
    await act(kinds, "eviction", eviction())
    charged = kinds.get("poddisruptionbudgets.policy", "p")
    assert charged is not None
    assert charged["status"]["disruptionsAllowed"] == 0
    assert list(charged["status"]["disruptedPods"]) == ["it"]
    assert charged["status"]["conditions"][0]["reason"] == "InsufficientPods"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ({}, "The disruption budget p is still being processed by the server."),
        ({"disruptionsAllowed": 0}, "The disruption budget p needs 1 healthy pods and has 1 currently"),
        ({"currentHealthy": 3}, "The disruption budget p does not allow evicting pods currently"),
    ],
)
async def test_a_budget_that_is_used_up_refuses(status: dict[str, Any], message: str) -> None:
    kinds = CoreKinds()
    await running(kinds)
    await budget(kinds, **status)
    with pytest.raises(ApiError) as refused:
        await act(kinds, "eviction", eviction())
    assert refused.value.code == 429
    assert (refused.value.details or {})["causes"] == [{"reason": "DisruptionBudget", "message": message}]


async def test_a_pod_that_is_not_ready_goes_without_a_charge_while_enough_others_are() -> None:
    kinds = CoreKinds()
    await running(kinds)
    unready = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    await kinds.change("pods", "it", unready, "status")
    await budget(kinds, currentHealthy=1, desiredHealthy=1)
    await act(kinds, "eviction", eviction())
    assert (kinds.get("pods", "it") or {})["metadata"]["deletionTimestamp"]


async def test_an_eviction_of_another_pod_of_the_same_name_is_refused() -> None:
    kinds = CoreKinds()
    await running(kinds)
    with pytest.raises(ApiError, match="does not match the UID in record"):
        await act(kinds, "eviction", eviction(preconditions={"uid": "another"}))


async def test_two_budgets_for_a_pod_are_not_supported() -> None:
    kinds = CoreKinds()
    await running(kinds)
    await budget(kinds, disruptionsAllowed=1)
    spec = {"selector": {"matchLabels": LABELS}}
    await kinds.create("poddisruptionbudgets.policy", {"metadata": {"name": "q"}, "spec": spec})
    with pytest.raises(ApiError, match="more than one PodDisruptionBudget"):
        await act(kinds, "eviction", eviction())


async def test_a_pod_that_has_ended_goes_at_once_and_one_that_runs_gets_its_time() -> None:
    kinds = CoreKinds()
    await running(kinds, "runs")
    await running(kinds, "ended")
    await kinds.change("pods", "ended", {"status": {"phase": "Succeeded"}}, "status")
    await kinds.delete("pods", "runs")
    await kinds.delete("pods", "ended")
    assert kinds.get("pods", "ended") is None
    assert (kinds.get("pods", "runs") or {})["metadata"]["deletionGracePeriodSeconds"] == 30
