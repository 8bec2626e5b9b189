from __future__ import annotations

import copy
from typing import Any

from nagaya.apiserver.crd import preparation


def crd(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "ws.t.io"}, "spec": {"names": {"plural": "ws", "kind": "Widget"}, **spec}}


_V1 = {"name": "v1", "storage": True}


def test_names_conversion_and_stored_version_have_defaults() -> None:
    given = crd(versions=[_V1])
    before = copy.deepcopy(given)
    filled = preparation.default(given)
    assert filled["spec"]["names"] == {"plural": "ws", "kind": "Widget", "singular": "widget", "listKind": "WidgetList"}
    assert filled["spec"]["conversion"] == {"strategy": "None"}
    assert filled["status"] == {"storedVersions": ["v1"]}
    assert given == before


def test_what_the_author_wrote_stays() -> None:
    names = {"plural": "ws", "kind": "Widget", "singular": "thing", "listKind": "Things"}
    filled = preparation.default({"spec": {"names": names, "conversion": {"strategy": "Webhook"}}})
    assert filled["spec"] == {"names": names, "conversion": {"strategy": "Webhook"}}


def test_a_conversion_service_listens_on_443_unless_told_otherwise() -> None:
    def service(port: dict[str, int]) -> dict[str, Any]:
        client = {"service": {"name": "a", "namespace": "b", **port}}
        return {"strategy": "Webhook", "webhook": {"clientConfig": client}}

    assert preparation.default(crd(conversion=service({})))["spec"]["conversion"] == service({"port": 443})
    assert preparation.default(crd(conversion=service({"port": 1})))["spec"]["conversion"] == service({"port": 1})


def test_a_new_definition_has_a_status_of_its_own() -> None:
    given = {**crd(versions=[_V1]), "status": {"storedVersions": ["v9"], "conditions": [{"type": "Established"}]}}
    prepared = preparation.prepare_create(given)
    assert prepared["status"] == {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": ["v1"],
    }
    assert prepared["metadata"]["generation"] == 1


def test_the_generation_counts_changes_of_the_spec() -> None:
    old = {**crd(versions=[_V1]), "status": {"storedVersions": ["v1"]}}
    old["metadata"]["generation"] = 4
    relabelled = {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}, "status": {}}
    assert preparation.prepare_update(relabelled, old)["metadata"]["generation"] == 4
    assert preparation.prepare_update(relabelled, old)["status"] == old["status"]
    emptied = {**old, "spec": {**old["spec"], "versions": [{**_V1, "additionalPrinterColumns": []}]}}
    assert preparation.prepare_update(emptied, old)["metadata"]["generation"] == 4
    rescoped = {**old, "spec": {**old["spec"], "scope": "Cluster"}}
    assert preparation.prepare_update(rescoped, old)["metadata"]["generation"] == 5


def test_a_status_update_cannot_change_the_spec() -> None:
    old = crd(scope="Namespaced")
    assert preparation.prepare_status_update({**crd(scope="Cluster"), "status": {"a": 1}}, old) == {
        **old,
        "status": {"a": 1},
    }


def test_formats_that_mean_nothing_are_warned_about_once() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "format": "odd"}, "b": {"type": "string"}}}
    old = crd(versions=[{**_V1, "schema": {"openAPIV3Schema": schema}}])
    assert preparation.format_warnings(old) == ['unrecognized format "odd"']
    assert preparation.format_warnings(old, old) == []
