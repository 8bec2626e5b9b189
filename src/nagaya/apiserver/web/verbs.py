"""What each verb does with a resource: reads the options and the body, calls the write path, presents the outcome.

The order of the steps within a verb is the real server's, because it decides which of several mistakes is reported.
"""

from __future__ import annotations

from typing import Final

import orjson

from nagaya.apiserver import protobuf
from nagaya.apiserver.builtins.decode import decode_options, interpret
from nagaya.apiserver.meta import jsontext, status, yamltext
from nagaya.apiserver.meta.decode_error import DecodeError
from nagaya.apiserver.meta.gvk import GroupVersionKind
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry import read, selection
from nagaya.apiserver.registry import watch as watching
from nagaya.apiserver.registry.body import read_object, unregistered
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.create import create as create_object
from nagaya.apiserver.registry.delete import delete as delete_object
from nagaya.apiserver.registry.patch import check_name, managers_of, patch_type
from nagaya.apiserver.registry.patch import patch as patch_object
from nagaya.apiserver.registry.system_metadata import drop_duplicate_owners, metadata_of, place
from nagaya.apiserver.registry.update import Copy
from nagaya.apiserver.registry.update import update as update_object
from nagaya.apiserver.web import negotiation, options, present
from nagaya.apiserver.web.negotiation import Wanted
from nagaya.apiserver.web.request import Response

_DELETE_OPTIONS: Final = GroupVersionKind("", "v1", "DeleteOptions")


async def get(call: Call, wanted: Wanted) -> Response:
    """One object."""
    if call.request.parameter("export").lower() not in ("", "false", "0"):
        raise status.bad_request("the export parameter, deprecated since v1.14, is no longer supported")
    version = call.request.parameter("resourceVersion")
    record = read.get(call.backend, call.resource, call.namespace, call.name, version)
    return await present.record(call.resource, record, wanted, call.request)


async def list_objects(call: Call, wanted: Wanted) -> Response:
    """A page of a collection."""
    asked = options.list_options(call.request)
    chosen = selection.parse(call.resource, asked.label_selector, asked.field_selector)
    page = await read.list_page(call.backend, call.resource, call.namespace, asked, chosen)
    return await present.page(call.resource, page, wanted, call.request)


async def watch(call: Call, wanted: Wanted) -> Response:
    """A stream of changes."""
    asked = options.list_options(call.request, force_watch=True)
    name = call.info.name if call.info.watch_prefix else ""
    chosen = selection.parse(call.resource, asked.label_selector, asked.field_selector, name)
    events = present.Events(call.resource, wanted, present.include_object(call.request))
    request = watching.check(call.backend, call.resource, call.namespace, asked, chosen)
    return Response(200, stream=watching.stream(call.backend, request, events))


async def create(call: Call, wanted: Wanted) -> Response:
    """A new object from the body."""
    asked = options.write_options(call.request, "CreateOptions")
    call.dry_run = asked.dry_run
    obj = read_object(call, call.resource.gvk, call.resource.decoder, asked.field_validation)
    outcome = await create_object(call.backend, call, obj, asked)
    return await present.outcome(outcome, wanted, call.request, 201)


async def update(call: Call, wanted: Wanted) -> Response:
    """The object as the body says it is to be."""
    asked = options.write_options(call.request, "UpdateOptions")
    call.dry_run = asked.dry_run
    resource, backend = call.resource, call.backend
    obj = read_object(call, resource.gvk, resource.decoder, asked.field_validation)
    metadata = metadata_of(obj)
    place(metadata, call.namespace)
    check_name(call, obj)
    drop_duplicate_owners(metadata, call.warn, after_admission=False)
    manager = call.manager(asked.field_manager)
    subresource = call.subresource.name if call.subresource else ""
    pristine = orjson.dumps(obj)

    async def produce(live: JsonObject | None, _copy: Copy) -> JsonObject:
        # Every try needs an object of its own: the write path changes it in place.
        mine = orjson.loads(pristine)
        return await managers_of(call).update(live, mine, manager=manager, now=backend.now(), subresource=subresource)

    uid = metadata.get("uid") or ""
    outcome = await update_object(backend, call, produce, asked, uid=uid)
    return await present.outcome(outcome, wanted, call.request, 201 if outcome.created else 200)


async def patch(call: Call, wanted: Wanted) -> Response:
    """The object changed as the body says."""
    form = patch_type(call)
    asked = options.write_options(call.request, "PatchOptions", apply=form == "application/apply-patch+yaml")
    call.dry_run = asked.dry_run
    outcome = await patch_object(call.backend, call, form, asked)
    return await present.outcome(outcome, wanted, call.request, 201 if outcome.created else 200)


async def delete(call: Call, wanted: Wanted) -> Response:
    """The object gone, or on its way."""
    asked = _delete_options(call)
    call.dry_run = asked.dry_run
    outcome = await delete_object(call.backend, call, call.name, asked)
    if outcome.removed and not call.resource.strategy.returns_deleted:
        metadata = (await outcome.load())["metadata"]
        about = call.resource.group_resource
        details = {"name": call.name, "group": about.group, "kind": about.resource, "uid": metadata["uid"]}
        return present.respond(status.success(details), Wanted(wanted.media_type, pretty=wanted.pretty))
    code = 202 if not outcome.removed and asked.orphan_dependents is False else 200
    return await present.outcome(outcome, wanted, call.request, code)


async def delete_collection(call: Call, wanted: Wanted) -> Response:
    """Every object of a selection gone, or on its way. The answer is what there was."""
    listing = options.list_options(call.request)
    chosen = selection.parse(call.resource, listing.label_selector, listing.field_selector)
    asked = _delete_options(call)
    call.dry_run = asked.dry_run
    for warning in call.resource.strategy.warn_delete(asked):
        call.warn(warning)
    page = await read.list_page(call.backend, call.resource, call.namespace, listing, chosen)
    for record in page.records:
        namespace, _, name = record.key.rpartition("/")
        try:
            await delete_object(call.backend, call, name, asked, namespace)
        except status.ApiError as error:
            if error.code != 404:
                raise
    return await present.page(call.resource, page, wanted, call.request)


def _delete_options(call: Call) -> options.DeleteOptions:
    body = call.request.body
    if not body:
        return options.delete_options(options.delete_options_from_query(call.request.query))
    content_type = call.request.headers.get("content-type", "")
    media_type = negotiation.input_type(content_type, negotiation.BUILTIN_TYPES)
    try:
        if media_type == negotiation.PROTOBUF:
            _, _, value = protobuf.decode(body, default=_DELETE_OPTIONS)
        elif media_type == negotiation.YAML:
            value, _ = yamltext.parse(body)
        else:
            value, _ = jsontext.parse(body)
        api_version, kind = interpret(value)
        if kind not in ("", _DELETE_OPTIONS.kind):
            raise status.bad_request(unregistered(api_version, kind))
        return options.delete_options(decode_options("DeleteOptions", value))
    except jsontext.JsonError as error:
        raise status.bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    except DecodeError as error:
        raise status.bad_request(str(error)) from None
