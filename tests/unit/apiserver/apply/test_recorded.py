"""Sequences of writes, compared with what Kubernetes' own code answered (see `tools/smd-oracle`)."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from nagaya.apiserver.apply import fieldset
from nagaya.apiserver.apply.manager import FieldManager
from nagaya.apiserver.apply.reset_fields import without
from nagaya.apiserver.meta.gvk import GroupVersionKind
from nagaya.apiserver.meta.status import ApiError
from nagaya.apiserver.schema.openapi_types import types_from_openapi
from support.subtest_cases import subtest_cases

VERSION = "x.io/v1"


def recorded() -> dict[str, Any]:
    return json.loads((Path(__file__).parent / "recorded.json").read_text())


@pytest.fixture(scope="module")
def manager() -> FieldManager:
    return FieldManager(
        GroupVersionKind("x.io", "v1", "W"),
        {VERSION: types_from_openapi(recorded()["schema"])},
        reset_fields={
            "": {VERSION: without(fieldset.of(["status"]))},
            "status": {VERSION: without(fieldset.of(["metadata"], ["spec"]))},
        },
    )


async def answer(manager: FieldManager, request: dict[str, Any], live: dict[str, Any] | None) -> dict[str, Any]:
    how = {"manager": request["manager"], "now": request["now"], "subresource": request["subresource"]}
    try:
        if request["op"] == "update":
            return {"object": await manager.update(live, request["object"], **how)}
        applied = await manager.apply(live, request["object"], force=request["force"], **how)
    except ApiError as error:
        return {"error": error.message, **({"status": error.status} if error.reason else {})}
    return {"object": live if applied is None else applied}


def comparable(answered: dict[str, Any]) -> dict[str, Any]:
    """Causes without their order, which is that of a Go map, and without the type that the real one leaves out."""
    if "status" in answered:
        details = answered["status"].get("details", {})
        causes = sorted(details.get("causes", []), key=lambda cause: (cause["message"], cause["field"]))
        answered = {**answered, "status": [answered["status"][key] for key in ("code", "reason")] + causes}
    return answered


@subtest_cases("case", lambda: recorded()["cases"], ids=lambda case: case["name"])
async def test_a_sequence_of_writes_ends_like_in_kubernetes(manager: FieldManager, case: dict[str, Any]) -> None:
    live: dict[str, Any] | None = None
    for step in case["steps"]:
        before = deepcopy((live, step["request"]))
        got = await answer(manager, step["request"], live)
        assert comparable(got) == comparable(step["answer"])
        assert (live, step["request"]) == before, "arguments are not changed"
        if "object" in step["answer"]:
            live = deepcopy(step["answer"]["object"])
            live["metadata"]["uid"] = "u"
