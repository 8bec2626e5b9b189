"""From a request to what serves it.

Resources come from the catalog; everything else (health, discovery, OpenAPI, version, metrics) from a table of paths. A
path that leads nowhere is answered as the real server would: with a Status inside the groups that are built in, with
plain text anywhere else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from nagaya.apiserver.meta import status
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.patch import patch_type
from nagaya.apiserver.registry.resource import Resource
from nagaya.apiserver.web import negotiation, verbs
from nagaya.apiserver.web.negotiation import Wanted
from nagaya.apiserver.web.request import Request, Response, text
from nagaya.apiserver.web.request_info import RequestInfo

Verb = Callable[[Call, Wanted], Awaitable[Response]]

_VERBS: Final[dict[str, Verb]] = {
    "get": verbs.get,
    "list": verbs.list_objects,
    "watch": verbs.watch,
    "create": verbs.create,
    "update": verbs.update,
    "patch": verbs.patch,
    "delete": verbs.delete,
    "deletecollection": verbs.delete_collection,
}


def nowhere() -> Response:
    """The answer to a path that nothing serves."""
    return text("404 page not found\n", 404)


def find(resource: Resource | None, info: RequestInfo, request: Request, builtin_version: bool) -> Resource | Response:
    """The resource that serves a request, or the answer that there is none."""
    # A request is read as if there were one slash; served it is only if there is.
    if request.path.startswith("//"):
        return nowhere()
    missing: Response | None = None if builtin_version else nowhere()
    if resource is None or len(info.parts) > 3 or not _in_scope(resource, info, request):
        if missing is not None:
            return missing
        raise status.no_such_resource()
    if info.subresource and info.subresource not in resource.subresources:
        if not resource.builtin:
            raise status.not_found(resource.group_resource, info.name)
        if missing is not None:
            return missing
        raise status.no_such_resource()
    if not resource.builtin and not info.name and info.verb in ("update", "patch"):
        raise status.bad_request("name must be provided")
    return resource


def _in_scope(resource: Resource, info: RequestInfo, request: Request) -> bool:
    """Whether the path addresses the resource where it lives: with a namespace or without."""
    named = len(info.parts) > 1
    if resource.namespaced:
        return bool(info.namespace) or (not named and (resource.builtin or info.verb in ("list", "watch")))
    if not info.namespace:
        return True
    # A namespace is named in its path once: there are none inside of others.
    prefix = ("watch",) if info.watch_prefix else ()
    path = "/".join(("/api", info.version, *prefix, *info.parts))
    return resource.gvr.resource == "namespaces" and request.path.rstrip("/") == path


def verb_handler(call: Call) -> Verb:
    """What serves the request's verb. Raises 405 if the resource does not have it."""
    info, resource = call.info, call.resource
    subresource = call.subresource
    offered = subresource.verbs if subresource else resource.verbs
    verb = info.verb
    if resource.builtin and (call.request.method == "HEAD" or not _addressed(call, verb)):
        raise status.method_not_allowed()
    if verb not in offered:
        if resource.builtin:
            raise status.method_not_allowed()
        raise status.method_not_supported(resource.group_resource, verb)
    special = (subresource.handlers if subresource else resource.handlers).get(verb)
    return special or _VERBS[verb]


def _addressed(call: Call, verb: str) -> bool:
    """Whether the verb goes with the form of the path: objects are created in a collection and changed by name.

    The real server asks this of built-in kinds only; others can be created at the path of any object.
    """
    named = len(call.info.parts) > 1
    if call.subresource:
        return True
    if verb == "create":
        across = call.resource.namespaced and not call.info.namespace
        return not named and not across
    if verb == "deletecollection":
        return not named and not (call.resource.namespaced and not call.info.namespace)
    return verb in ("list", "watch") or named


def negotiate(call: Call) -> Wanted:
    """The form of the answer."""
    if call.resource.builtin:
        streams = negotiation.STREAM_TYPES if call.info.verb in ("list", "watch") else ()
        negotiation.check_listed(call.request, (*negotiation.BUILTIN_TYPES, *streams))
    return negotiation.output(call.request, tables=call.resource.tables is not None)


def check_media_type(call: Call) -> None:
    """Refuse a body in a form that the resource does not take, before it is read. Raises 415."""
    if call.info.verb == "patch":
        patch_type(call)
    elif call.subresource is None or not call.subresource.is_stream:
        types = negotiation.BUILTIN_TYPES if call.resource.builtin else negotiation.CUSTOM_TYPES
        negotiation.input_type(call.request.headers.get("content-type", ""), types)


def only_read(request: Request, *types: str) -> None:
    """Refuse everything but GET at the path of a document (405), and clients that do not read it in any of its forms
    (406)."""
    if request.method != "GET":
        raise status.method_not_allowed()
    negotiation.check_listed(request, types)
