"""Versions that whoever starts a server brings along, for kinds that others define.

They do in the same process what a conversion webhook does for a server elsewhere. A definition stays as its author
wrote it: what is added to it is added to what is served. So it can be applied again and again without a conflict, and
it does not lead anywhere on another server. A definition that has somebody of its own to ask is served as it stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from nagaya.apiserver.custom.conversion import Converter, with_identity
from nagaya.apiserver.meta.status import ApiError, JsonObject


class Versions(Protocol):
    """Further versions of one kind."""

    def completed(self, spec: Mapping[str, Any], /) -> Mapping[str, Any] | None:
        """The `spec` of a definition with the further versions; None if they are none of its business."""
        ...

    def convert(self, content: Mapping[str, Any], api_version: str, /) -> Mapping[str, Any]:
        """An object in another version. Any ValueError refuses the request."""
        ...


class InProcess:
    """Converts without asking anybody outside."""

    def __init__(self, versions: Versions) -> None:
        self._versions = versions

    async def convert(self, objects: list[JsonObject], api_version: str) -> list[JsonObject]:
        """The objects in that version."""
        return [each if each["apiVersion"] == api_version else self._one(each, api_version) for each in objects]

    def _one(self, obj: JsonObject, api_version: str) -> JsonObject:
        about = f"conversion of {obj['kind']} from {obj['apiVersion']} to {api_version}"
        try:
            made = {**self._versions.convert(obj, api_version)}
        except ValueError as error:
            raise ApiError(500, "", f"{about} failed: {error}") from error
        return with_identity(about, obj, made)


def completed(definition: JsonObject, given: Mapping[str, Versions]) -> tuple[JsonObject, Converter | None]:
    """A definition as it is served, and who converts its objects if it is not whom the definition says."""
    versions = given.get(definition["metadata"]["name"])
    spec = None if versions is None else versions.completed(definition["spec"])
    if versions is None or spec is None:
        return definition, None
    return {**definition, "spec": {**spec}}, InProcess(versions)
