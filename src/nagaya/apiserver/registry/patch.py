"""PATCH in its four forms, each as a way to make the new object from the current one.

JSON Patch, merge patch and strategic merge patch describe a change and need an object to change. Server-side apply
describes the fields its manager wants and creates the object if there is none.
"""

from __future__ import annotations

from typing import Any

from nagaya.apiserver.apply.manager import FieldManager
from nagaya.apiserver.meta import jsontext, status, yamltext
from nagaya.apiserver.meta.decode_error import DecodeError
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.patch.door import PatchType, apply_patch, undecodable
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.body import check_extent, check_patched_kind, strict
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.outcome import Outcome
from nagaya.apiserver.registry.system_metadata import metadata_of, place
from nagaya.apiserver.registry.update import Copy, Produce, update
from nagaya.apiserver.web import negotiation
from nagaya.apiserver.web.options import WriteOptions


def patch_type(call: Call) -> PatchType:
    """The form of the patch. Raises 415 for one that the resource does not take."""
    types = [PatchType.JSON, PatchType.MERGE, PatchType.STRATEGIC, PatchType.APPLY]
    if not call.resource.builtin:
        types.remove(PatchType.STRATEGIC)
    given = call.request.headers.get("content-type", "").partition(";")[0]
    for each in types:
        if each == given:
            return each
    if call.resource.builtin:
        raise status.ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    raise negotiation.unsupported(tuple(types))


async def patch(backend: Backend, call: Call, form: PatchType, options: WriteOptions) -> Outcome:
    """Change the object named in the URL as the body says."""
    if form is PatchType.APPLY:
        return await update(backend, call, _apply(backend, call, options), options, allow_create=not call.subresource)
    return await update(backend, call, _change(backend, call, form, options), options)


def managers_of(call: Call) -> FieldManager:
    """Who keeps track of the fields that this request sets."""
    if call.subresource and call.subresource.managers:
        return call.subresource.managers
    return call.resource.managers


def _change(backend: Backend, call: Call, form: PatchType, options: WriteOptions) -> Produce:
    resource, validation = call.resource, options.field_validation
    try:
        body, duplicates = jsontext.parse(call.request.body)
    except DecodeError as error:
        problem = str(error)
        if form is not PatchType.STRATEGIC and validation != "Ignore":
            problem = f"error decoding patch: {problem}"
        raise status.bad_request(problem) from None
    subresource = call.subresource.name if call.subresource else ""

    async def produce(live: JsonObject | None, copy: Copy) -> JsonObject:
        if live is None:
            raise status.not_found(resource.group_resource, call.name)
        patched, strict_errors = apply_patch(form, await copy(), body, resource.struct, lenient=validation == "Ignore")
        check_extent(patched)
        problems = [*duplicates, *strict_errors]
        if form is PatchType.JSON:
            problems = [f"json patch {problem}" for problem in problems]
        new = _decode(call, form, body, patched, problems, validation)
        check_name(call, new)
        return await managers_of(call).update(
            live, new, manager=call.manager(options.field_manager), now=backend.now(), subresource=subresource
        )

    return produce


def _decode(call: Call, form: PatchType, body: Any, patched: Any, problems: list[str], validation: str) -> JsonObject:
    """The patched value as an object of its kind again."""

    def refuse(problem: str) -> ApiError:
        return undecodable(form, body, patched, problem)

    if form is not PatchType.STRATEGIC:
        check_patched_kind(patched, call.resource.gvk, refuse, builtin=call.resource.builtin)
    try:
        new, unknown = call.resource.decoder(patched, report=validation != "Ignore")
    except DecodeError as error:
        raise refuse(str(error)) from None
    if validation != "Ignore":
        strict(call, validation, [*problems, *unknown], refuse)
    return new


def _apply(backend: Backend, call: Call, options: WriteOptions) -> Produce:
    resource, validation = call.resource, options.field_validation
    try:
        body, duplicates = yamltext.parse(call.request.body)
    except DecodeError as error:
        raise status.bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None
    if not isinstance(body, dict):
        raise status.bad_request(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal "
            f"{type(body).__name__} into Go value of type map[string]interface {{}}"
        )
    check_extent(body)
    subresource = call.subresource.name if call.subresource else ""

    async def produce(live: JsonObject | None, copy: Copy) -> JsonObject:
        start: JsonObject = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {}}
        applied = await managers_of(call).apply(
            start if live is None else live,
            body,
            manager=options.field_manager,
            force=bool(options.force),
            now=backend.now(),
            subresource=subresource,
        )
        if applied is None and live is not None:
            return await copy()
        applied = start if applied is None else applied
        if validation == "Strict" and duplicates:
            raise status.bad_request(f"error strict decoding YAML: {duplicates[0]}")
        for problem in duplicates if validation == "Warn" else ():
            call.warn(problem)
        check_extent(applied)
        try:
            new = resource.complete(applied) if resource.complete else resource.decoder(applied, report=False)[0]
        except DecodeError as error:
            raise malformed(resource.kind, error) from None
        if live is None:
            place(metadata_of(new), call.namespace)
        check_name(call, new)
        return new

    return produce


def malformed(kind: str, error: DecodeError) -> ApiError:
    """The refusal of an applied configuration whose types are right and whose texts break the form of their types."""
    return status.bad_request(f"the applied configuration of {kind} is malformed: {error}")


def check_name(call: Call, obj: JsonObject) -> None:
    """Hold an object to the name in the URL. Raises 400."""
    name = metadata_of(obj).get("name") or ""
    if not name:
        problem = "name must be provided"
        raise status.bad_request(f"the name of the object ({call.name} based on URL) was undeterminable: {problem}")
    if name != call.name:
        raise status.bad_request(f"the name of the object ({name}) does not match the name on the URL ({call.name})")
