"""Turning a custom resource from one version into another: by renaming it, or by asking its webhook.

A webhook may change everything but what an object is: its kind, and of its metadata only labels and annotations are
taken over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from nagaya.apiserver.builtins.decode import DecodeError, normalise
from nagaya.apiserver.builtins.facts import struct_of
from nagaya.apiserver.meta import gostring
from nagaya.apiserver.meta.gvk import GroupVersion, GroupVersionKind
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.world import World

_TIMEOUT = 30.0


class WebhookCaller(Protocol):
    """Sends a review to a webhook and brings back its answer."""

    async def call(self, config: JsonObject, review: JsonObject, timeout: float, *, name: str) -> JsonObject:
        """The answer to a review. `config` is the `clientConfig`. Raises WebhookFailure."""
        ...


class WebhookFailure(Exception):
    """A webhook could not be asked, or did not answer as it should."""


class Converter(Protocol):
    """Turns objects of one definition into one of its versions."""

    async def convert(self, objects: list[JsonObject], api_version: str) -> list[JsonObject]:
        """The objects in that version. The ones given may be changed."""
        ...


class Renaming:
    """The strategy `None`: all versions look the same but for the name."""

    async def convert(self, objects: list[JsonObject], api_version: str) -> list[JsonObject]:
        """The objects with another apiVersion."""
        for each in objects:
            if each["apiVersion"] != api_version:
                each["apiVersion"] = api_version
        return objects


class ByWebhook:
    """The strategy `Webhook`."""

    def __init__(self, name: str, webhook: JsonObject, caller: WebhookCaller, world: World) -> None:
        self._name = name
        self._config: JsonObject = webhook.get("clientConfig") or {}
        reviews = [each for each in webhook.get("conversionReviewVersions") or () if each in ("v1", "v1beta1")]
        self._review_version = reviews[0] if reviews else ""
        self._caller = caller
        self._world = world

    async def convert(self, objects: list[JsonObject], api_version: str) -> list[JsonObject]:
        """The objects as the webhook returns them; those in the version already are not sent."""
        foreign = [each for each in objects if each["apiVersion"] != api_version]
        if not foreign:
            return objects
        first = foreign[0]
        group, version = GroupVersion.parse(first["apiVersion"])
        about = f"conversion webhook for {GroupVersionKind(group, version, first['kind'])}"
        if not self._review_version:
            raise _failed("no supported conversion review versions")
        converted = iter(_checked(about, foreign, await self._ask(about, foreign, api_version), api_version))
        return [each if each["apiVersion"] == api_version else next(converted) for each in objects]

    async def _ask(self, about: str, objects: Sequence[JsonObject], api_version: str) -> list[JsonObject]:
        uid = self._world.uid()
        review = {
            "kind": "ConversionReview",
            "apiVersion": f"apiextensions.k8s.io/{self._review_version}",
            "request": {"uid": uid, "desiredAPIVersion": api_version, "objects": list(objects)},
        }
        try:
            name = f"conversion_webhook_for_{self._name}"
            answer = await self._caller.call(self._config, review, _TIMEOUT, name=name)
            return self._read(answer, uid)
        except WebhookFailure as failure:
            raise _failed(f"{about} failed: {failure}") from failure

    def _read(self, answer: JsonObject, uid: str) -> list[JsonObject]:
        given = {member: answer[member] for member in ("kind", "apiVersion", "response") if member in answer}
        try:
            response = normalise(struct_of("apiextensions/v1.ConversionReview"), given, strict=False)[0].get("response")
        except DecodeError as error:
            raise WebhookFailure(str(error)) from None
        if self._review_version == "v1":
            kind, version = answer.get("kind") or "", answer.get("apiVersion") or ""
            if (kind, version) != ("ConversionReview", "apiextensions.k8s.io/v1"):
                found = GroupVersionKind(*GroupVersion.parse(version), kind) if version.count("/") < 2 else version
                expected = "apiextensions.k8s.io/v1, Kind=ConversionReview"
                raise WebhookFailure(f"expected webhook response of {expected}, got {found}")
            if response is not None and response.get("uid") != uid:
                got = gostring.quote(response.get("uid") or "")
                raise WebhookFailure(f"expected response.uid={gostring.quote(uid)}, got {got}")
        if response is None:
            raise WebhookFailure("no response provided")
        result = response.get("result") or {}
        if result.get("status") != "Success":
            stated = f"response.result.status was '{result.get('status') or ''}', not 'Success'"
            raise WebhookFailure(result.get("message") or stated)
        objects: list[JsonObject] = response.get("convertedObjects") or []
        return objects


def _checked(
    about: str, originals: Sequence[JsonObject], converted: Sequence[JsonObject], api_version: str
) -> list[JsonObject]:
    """Hold a webhook to what it may change."""
    if len(converted) != len(originals):
        raise _failed(f"{about} returned {len(converted)} objects, expected {len(originals)}")
    made = []
    for index, (original, obj) in enumerate(zip(originals, converted, strict=True)):
        where = f"{about} returned invalid converted object at index {index}"
        if not isinstance(obj, dict):
            raise _failed(f"{where}: it is no object")
        if obj.get("apiVersion") != api_version:
            received = obj.get("apiVersion") or ""
            raise _failed(f"{where}: invalid groupVersion (expected {api_version}, received {received})")
        if obj.get("kind") != original["kind"]:
            raise _failed(f"{where}: invalid kind (expected {original['kind']}, received {obj.get('kind') or ''})")
        made.append(with_identity(where, original, obj))
    return made


def with_identity(where: str, original: JsonObject, obj: JsonObject) -> JsonObject:
    """The converted object with the original's metadata, except for labels and annotations."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        raise _failed(f"{where}: invalid metadata of type {type(metadata).__name__} in converted object")
    kept = {key: value for key, value in original["metadata"].items() if key not in ("labels", "annotations")}
    for member in ("labels", "annotations"):
        texts = metadata.get(member)
        if texts and not (isinstance(texts, dict) and all(isinstance(text, str) for text in texts.values())):
            raise _failed(f"{where}: invalid metadata.{member} in converted object: it is no map of strings")
        if texts:
            kept[member] = texts
    return {**obj, "metadata": kept}


def _failed(message: str) -> ApiError:
    return ApiError(500, "", message)
