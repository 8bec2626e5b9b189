"""Versions that are given to a server: served beside those of the definition, which stays as it was written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from nagaya.apiserver.server import ApiServer, Config
from nagaya.world import World
from support.in_process import ADMIN, Api, MovingClock

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
OLD, NEW = (f"/apis/example.com/{version}/namespaces/default/boats" for version in ("v1", "v2"))
APPLY = "application/apply-patch+yaml"


def version(name: str, *, storage: bool, **properties: Any) -> dict[str, Any]:
    spec = {"type": "object", "properties": properties}
    schema = {"type": "object", "properties": {"spec": spec}}
    return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}}


TEXT = {"type": "string"}
V1 = version("v1", storage=False, sails={"type": "integer"})
V2 = version("v2", storage=True, rig={"type": "object", "properties": {"sails": {"type": "integer"}}}, flag=TEXT)
V2["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["flag"] = {**TEXT, "default": "none"}


class BoatVersions:
    """v1 of boats, which has another place for sails and knows no flags."""

    def completed(self, spec: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if (spec.get("conversion") or {}).get("strategy") == "Webhook":
            return None
        return {**spec, "versions": [V1, *spec["versions"]]}

    def convert(self, content: Mapping[str, Any], api_version: str) -> Mapping[str, Any]:
        spec = content.get("spec") or {}
        if spec.get("sails") == 13:
            raise ValueError("thirteen sails bring bad luck")
        made = {"sails": spec["rig"]["sails"]} if api_version.endswith("v1") else {"rig": {"sails": spec["sails"]}}
        metadata = {"name": "another", "annotations": {"from": content["apiVersion"]}}
        return {"apiVersion": api_version, "kind": "Boat", "metadata": metadata, "spec": made}


def definition(**spec: Any) -> dict[str, Any]:
    names = {"plural": "boats", "singular": "boat", "kind": "Boat"}
    whole = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [V2], **spec}
    return {"metadata": {"name": "boats.example.com"}, "spec": whole}


def boat(version: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"example.com/{version}", "kind": "Boat", "metadata": {"name": "one"}, "spec": spec}


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    """A server that has been given another version of boats."""
    clock = MovingClock()
    config = Config(tokens={"admin": ADMIN}, versions={"boats.example.com": BoatVersions()})
    server = await ApiServer.start(config, World(clock=clock))
    yield Api(server, clock)
    await server.stop()


async def test_what_is_written_in_one_version_is_read_in_the_other(api: Api) -> None:
    await api.create(DEFINITIONS, definition())
    await api.create(OLD, boat("v1", sails=2))

    assert (await api.must(f"{OLD}/one"))["spec"] == {"sails": 2}
    assert (await api.must(f"{NEW}/one"))["spec"] == {"rig": {"sails": 2}, "flag": "none"}
    assert [each["spec"] for each in (await api.must(OLD))["items"]] == [{"sails": 2}]


async def test_only_labels_and_annotations_are_taken_of_converted_metadata(api: Api) -> None:
    await api.create(DEFINITIONS, definition())
    made = await api.create(NEW, boat("v2", rig={"sails": 3}))
    metadata = (await api.must(f"{OLD}/one"))["metadata"]

    assert (metadata["name"], metadata["uid"]) == ("one", made["metadata"]["uid"])
    assert metadata["annotations"] == {"from": "example.com/v2"}


async def test_the_definition_stays_as_it_was_written(api: Api) -> None:
    await api.create(DEFINITIONS, definition())
    found = await api.must(f"{DEFINITIONS}/boats.example.com")

    assert [each["name"] for each in found["spec"]["versions"]] == ["v2"]
    assert found["status"]["storedVersions"] == ["v2"]


async def test_discovery_and_documents_tell_of_them(api: Api) -> None:
    await api.create(DEFINITIONS, definition())
    group = await api.must("/apis/example.com")
    document = await api.must("/openapi/v3/apis/example.com/v1")

    assert [each["version"] for each in group["versions"]] == ["v2", "v1"]
    assert group["preferredVersion"]["version"] == "v2"
    assert "sails" in document["components"]["schemas"]["com.example.v1.Boat"]["properties"]["spec"]["properties"]


async def test_managers_own_fields_in_the_version_in_which_they_applied(api: Api) -> None:
    await api.create(DEFINITIONS, definition())
    await api.ask("PATCH", f"{OLD}/one?fieldManager=old", boat("v1", sails=2), kind=APPLY)
    code, refused = await api.ask("PATCH", f"{NEW}/one?fieldManager=new", boat("v2", rig={"sails": 4}), kind=APPLY)
    found = await api.must(f"{NEW}/one")

    assert code == 409
    assert refused["message"] == 'Apply failed with 1 conflict: conflict with "old": .spec.sails'
    (entry,) = found["metadata"]["managedFields"]
    assert (entry["apiVersion"], entry["fieldsV1"]) == ("example.com/v1", {"f:spec": {"f:sails": {}}})


@pytest.mark.parametrize("query", ["", "?dryRun=All"])
async def test_what_cannot_be_converted_is_refused(api: Api, query: str) -> None:
    await api.create(DEFINITIONS, definition())
    code, answer = await api.ask("POST", OLD + query, boat("v1", sails=13))

    assert code == 500
    assert "from example.com/v1 to example.com/v2 failed: thirteen sails bring bad luck" in answer["message"]


async def test_a_definition_that_has_somebody_to_ask_is_left_alone(api: Api) -> None:
    webhook = {"clientConfig": {"url": "https://127.0.0.1:9/convert"}, "conversionReviewVersions": ["v1"]}
    await api.create(DEFINITIONS, definition(conversion={"strategy": "Webhook", "webhook": webhook}))
    code, _ = await api.ask("GET", OLD)

    assert code == 404
