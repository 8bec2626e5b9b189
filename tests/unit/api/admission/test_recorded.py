"""Our admission says what Cluster API's webhooks say, word for word.

The answers were recorded from Cluster API v1.14.0 with tools/admission-oracle.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from nagaya.api.admission.review import mutate, validate
from nagaya.apiserver.patch.json_patch import apply
from support.subtest_cases import subtest_cases

RECORDED = [
    json.loads(line) for line in (Path(__file__).parent / "recorded.jsonl").read_text(encoding="utf-8").splitlines()
]
RESOURCES = sorted({each["resource"] for each in RECORDED})
WITHOUT_RECORDED_DEFAULTS = ("clusters", "machinedrainrules")


def review(question: dict[str, Any]) -> dict[str, Any]:
    new = question["new"]
    group = new["apiVersion"].partition("/")[0]
    return {
        "request": {
            "uid": "1",
            "operation": "CREATE" if question["old"] is None else "UPDATE",
            "kind": {"group": group, "version": "v1beta2", "kind": new["kind"]},
            "resource": {"group": group, "version": "v1beta2", "resource": question["resource"]},
            "object": new,
            "oldObject": question["old"],
        }
    }


def asked_about(resource: str) -> list[dict[str, Any]]:
    return [each for each in RECORDED if each["resource"] == resource]


def without_empty_metadata(obj: dict[str, Any]) -> dict[str, Any]:
    # Upstream writes an empty object where a template has no metadata, which its own schema then refuses.
    template = obj["spec"].get("template", {})
    if template.get("metadata") == {}:
        return {**obj, "spec": {**obj["spec"], "template": {k: v for k, v in template.items() if k != "metadata"}}}
    return obj


@subtest_cases("resource", RESOURCES)
def test_the_same_objects_are_refused_with_the_same_words(resource: str) -> None:
    for question in asked_about(resource):
        response = validate(review(question))["response"]
        expected = question.get("status")
        assert response["allowed"] == (expected is None), question
        if expected is not None:
            status = response["status"]
            assert {"message": status["message"], "causes": status["details"]["causes"]} == expected


@pytest.mark.parametrize("resource", [each for each in RESOURCES if each not in WITHOUT_RECORDED_DEFAULTS])
def test_the_same_defaults_are_set(resource: str) -> None:
    for question in asked_about(resource):
        response = mutate(review(question))["response"]
        if "refusal" in question:
            assert (response["allowed"], response["status"]["message"]) == (False, question["refusal"])
            continue
        patch = json.loads(base64.b64decode(response.get("patch", base64.b64encode(b"[]"))))
        ours = apply(question["new"], patch)
        theirs = without_empty_metadata(apply(question["new"], question.get("patch") or []))
        assert ours == theirs, question
