from __future__ import annotations

from functools import cache

import orjson
import pytest

from nagaya.apiserver.builtins.assemble import assemble
from nagaya.apiserver.registry.resource import Resource
from nagaya.apiserver.web.negotiation import JSON, Wanted
from nagaya.apiserver.web.present import Events
from nagaya.world import World
from support.subtest_cases import subtest_cases

PLAIN = Wanted(JSON)
TABLE = Wanted(JSON, "Table", "v1")


@cache
def watched_resources() -> list[Resource]:
    return [resource for resource in assemble({}, World().clock.now) if "watch" in resource.verbs]


def watched_resource(name: str) -> Resource:
    [resource] = [resource for resource in watched_resources() if resource.gvr.resource == name]
    return resource


@subtest_cases("resource", watched_resources, ids=lambda resource: f"{resource.gvr.resource}.{resource.api_version}")
def test_every_kind_has_bookmarks_in_every_form(resource: Resource) -> None:
    plain = orjson.loads(Events(resource, PLAIN, "Metadata").bookmark(7, {"a": "b"}))
    printer = Events(resource, TABLE, "Metadata")
    first, second = (orjson.loads(printer.bookmark(revision, None)) for revision in (7, 8))

    assert plain["type"] == "BOOKMARK"
    assert plain["object"]["kind"] == resource.kind
    assert plain["object"]["metadata"]["resourceVersion"] == "7"
    assert plain["object"]["metadata"]["annotations"]["a"] == "b"
    assert first["object"]["rows"][0]["object"]["metadata"]["resourceVersion"] == "7"
    assert first["object"]["columnDefinitions"]
    assert second["object"]["columnDefinitions"] is None


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("configmaps", {}),
        ("namespaces", {"spec": {}, "status": {}}),
        ("pods", {"spec": {"containers": None}, "status": {}}),
    ],
)
def test_a_bookmark_shows_what_its_kind_always_shows(name: str, shown: dict[str, object]) -> None:
    resource = watched_resource(name)
    made = orjson.loads(Events(resource, PLAIN, "Metadata").bookmark(7, None))["object"]

    assert {key: value for key, value in made.items() if key not in ("kind", "apiVersion", "metadata")} == shown


@pytest.mark.parametrize("name", ["deployments", "replicasets", "statefulsets"])
def test_a_bookmark_of_a_kind_with_replicas_counts_none(name: str) -> None:
    resource = watched_resource(name)

    assert orjson.loads(Events(resource, PLAIN, "Metadata").bookmark(7, None))["object"]["spec"]["replicas"] == 0


def test_a_bookmark_of_daemon_sets_counts_no_templates() -> None:
    resource = watched_resource("daemonsets")
    metadata = orjson.loads(Events(resource, PLAIN, "Metadata").bookmark(7, {"a": "b"}))["object"]["metadata"]

    assert metadata["annotations"] == {"a": "b", "deprecated.daemonset.template.generation": "0"}
