"""Objects on their way to a webhook or policy that knows another version of them."""

from __future__ import annotations

from typing import Final

import orjson

from nagaya.apiserver.admission.rules import Shown
from nagaya.apiserver.meta import status
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.registry.resource import Resource
from nagaya.apiserver.storage import Record

_LATEST: Final = 2**62


async def shown(obj: JsonObject | None, resource: Resource, form: Shown) -> JsonObject | None:
    """An object in the form to show; the same one if that is its own. Raises 500 if it cannot be converted."""
    if obj is None or not is_other(form, resource):
        return obj
    return await converted(obj, resource, form.resource)


def is_other(form: Shown, resource: Resource) -> bool:
    """Whether a form is another one than that of a resource. What has a kind of its own (a Scale) has only one."""
    return form.kind == form.resource.gvk and form.resource.api_version != resource.api_version


async def converted(obj: JsonObject, resource: Resource, other: Resource) -> JsonObject:
    """An object of one version of a resource in another one, fresh. Raises 500 if it cannot be converted."""
    try:
        stored = await resource.codec.encode({**obj})
        if resource.builtin:
            stored = {key: value for key, value in stored.items() if key not in ("kind", "apiVersion")}
        record = Record("", _LATEST, orjson.dumps(stored))
        return (await other.codec.decode([record]))[0]
    except ApiError as error:
        raise status.internal(error.message) from error
