"""Answers of conversion webhooks: each of a wrong shape is a failure that says so."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.apiserver.custom.conversion import ByWebhook
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.world import World

OLD: JsonObject = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}}
NEW: JsonObject = {**OLD, "apiVersion": "example.com/v2"}


class Webhook:
    """Answers every review in the same way."""

    def __init__(self, **response: Any) -> None:
        self._response = response

    async def call(self, config: JsonObject, review: JsonObject, timeout: float, *, name: str) -> JsonObject:
        response = {"uid": review["request"]["uid"], "result": {"status": "Success"}, **self._response}
        return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": response}


async def converted(**response: Any) -> list[JsonObject]:
    webhook = ByWebhook("things", {"conversionReviewVersions": ["v1"]}, Webhook(**response), World())
    return await webhook.convert([OLD], "example.com/v2")


async def test_a_good_answer_may_change_labels_and_content() -> None:
    changed = {**NEW, "metadata": {"name": "b", "labels": {"a": "b"}}, "spec": 5}

    assert await converted(convertedObjects=[changed]) == [{**changed, "metadata": {"name": "a", "labels": {"a": "b"}}}]


@pytest.mark.parametrize(
    "response",
    [
        {"convertedObjects": 5},
        {"convertedObjects": [5]},
        {"convertedObjects": [None]},
        {"convertedObjects": [[]]},
        {"convertedObjects": [{**NEW, "metadata": 5}]},
        {"convertedObjects": [{**NEW, "metadata": {"labels": [1]}}]},
        {"convertedObjects": [{**NEW, "metadata": {"annotations": {"a": 5}}}]},
        {"convertedObjects": [{**NEW, "kind": 5}]},
        {"result": 5},
        {"result": {"status": 5}},
        {"result": {"status": "Failure", "message": 5}},
        {"uid": 5},
    ],
    ids=str,
)
async def test_an_answer_of_a_wrong_shape_is_a_failure(response: JsonObject) -> None:
    with pytest.raises(ApiError, match=r"conversion webhook for example\.com/v1, Kind=Thing") as raised:
        await converted(**response)
    assert raised.value.code == 500
