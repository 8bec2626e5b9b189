"""Whether the priority level of a FlowSchema exists."""

from __future__ import annotations

from typing import Any

from support.in_process import Api

GROUP = "/apis/flowcontrol.apiserver.k8s.io/v1"


async def dangling(api: Api) -> dict[str, Any]:
    (condition,) = (await api.must(f"{GROUP}/flowschemas/f"))["status"]["conditions"]
    assert condition["type"] == "Dangling"
    found: dict[str, Any] = condition
    return found


async def test_a_schema_dangles_until_its_level_exists(api: Api) -> None:
    spec = {"priorityLevelConfiguration": {"name": "mine"}, "matchingPrecedence": 900}
    await api.create(f"{GROUP}/flowschemas", {"metadata": {"name": "f"}, "spec": spec})
    about = 'This FlowSchema references the PriorityLevelConfiguration object named "mine"'
    found = await dangling(api)
    assert (found["status"], found["reason"]) == ("True", "NotFound")
    assert found["message"] == f"{about} but there is no such object"
    limited = {"nominalConcurrencyShares": 1, "limitResponse": {"type": "Reject"}}
    level = {"metadata": {"name": "mine"}, "spec": {"type": "Limited", "limited": limited}}
    await api.create(f"{GROUP}/prioritylevelconfigurations", level)
    found = await dangling(api)
    assert (found["status"], found["reason"], found["message"]) == ("False", "Found", f"{about} and it exists")
    await api.delete(f"{GROUP}/prioritylevelconfigurations/mine")
    assert (await dangling(api))["status"] == "True"
    assert await api.quiet()
