"""What a URL asks for: which resource, which object, which verb.

Authorisation, audit and routing all decide by this one reading of the path, so that none of them can be talked into
seeing another request than the one that is served.
"""

from __future__ import annotations

from dataclasses import dataclass

from nagaya.apiserver.meta.gvk import GroupResource, GroupVersion
from nagaya.apiserver.meta.names import path_segment
from nagaya.apiserver.selectors.fields import exact_match
from nagaya.apiserver.web.request import Request

_VERBS = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_NAMESPACE_SUBRESOURCES = {"status", "finalize"}
_WITH_SELECTORS = {"list", "watch", "deletecollection"}


@dataclass(slots=True)
class RequestInfo:
    """The reading of one request. For non-resource requests only `path` and `verb` mean anything."""

    path: str
    verb: str
    is_resource: bool = False
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    parts: tuple[str, ...] = ()
    watch_prefix: bool = False  # the deprecated form /api/v1/watch/...
    field_selector: str = ""
    label_selector: str = ""

    @property
    def group_resource(self) -> GroupResource:
        """The resource without its version."""
        return GroupResource(self.group, self.resource)

    @property
    def group_version(self) -> GroupVersion:
        """The group and version in the URL."""
        return GroupVersion(self.group, self.version)


def is_true(values: list[str] | None) -> bool:
    """A boolean query parameter as the API server reads it: present and neither `false` nor `0`."""
    return _is_true(values[0]) if values else False


def _is_true(value: str | None) -> bool:
    return value is not None and value.lower() not in ("false", "0")


def read(request: Request) -> RequestInfo:
    """The meaning of a request's method, path and query."""
    info = RequestInfo(request.path, request.method.lower())
    parts = request.path.strip("/").split("/")
    if len(parts) < 3 or parts[0] not in ("api", "apis"):
        return info
    if parts[0] == "apis":
        if len(parts) < 4:
            return info
        info.group = parts[1]
        parts = parts[2:]
    else:
        parts = parts[1:]
    info.is_resource = True
    info.version = parts[0]
    parts = parts[1:]
    if parts[0] == "watch" and len(parts) > 1:
        info.verb, info.watch_prefix = "watch", True
        parts = parts[1:]
    else:
        info.verb = _VERBS.get(request.method, "")
    if parts[0] == "namespaces" and len(parts) > 1:
        info.namespace = parts[1]
        if len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES:
            parts = parts[2:]
    info.parts = tuple(parts)
    info.resource = parts[0]
    if len(parts) > 1:
        info.name = parts[1]
    if len(parts) > 2 and not info.watch_prefix:
        info.subresource = parts[2]
    _refine(info, request)
    return info


def _refine(info: RequestInfo, request: Request) -> None:
    """Tell list from get and watch, delete from deletecollection, and find a name given as a field selector."""
    if not info.name and info.verb == "get":
        info.verb = "watch" if _is_true(request.peek("watch")) else "list"
        name = exact_match(request.peek("fieldSelector") or "", "metadata.name")
        if name and not path_segment(name):
            info.name = name
    elif not info.name and info.verb == "delete":
        info.verb = "deletecollection"
    if info.verb in _WITH_SELECTORS and not info.watch_prefix:
        info.field_selector = request.peek("fieldSelector") or ""
        info.label_selector = request.peek("labelSelector") or ""
