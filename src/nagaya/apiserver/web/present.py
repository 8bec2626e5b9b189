"""Answers in the form the client asked for: plain, as a Table, as metadata only; in JSON or YAML; indented for people.

The common case, a stored object or list sent as it is, never decodes anything. Everything else is made here from
objects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import orjson
import yaml

from nagaya.apiserver.builtins.decode import normalise
from nagaya.apiserver.meta import gostring, status
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.outcome import Outcome
from nagaya.apiserver.registry.read import Page
from nagaya.apiserver.registry.resource import Resource
from nagaya.apiserver.storage import Event, Record
from nagaya.apiserver.web import negotiation
from nagaya.apiserver.web.negotiation import Wanted
from nagaya.apiserver.web.request import Request, Response

_META: Final = "meta.k8s.io"


def encode(obj: object, wanted: Wanted) -> bytes:
    """An object in the wanted media type."""
    if wanted.media_type == negotiation.YAML:
        text: bytes = yaml.dump(obj, Dumper=yaml.CSafeDumper, encoding="utf-8", allow_unicode=True)
        return text
    return orjson.dumps(obj, option=orjson.OPT_INDENT_2) if wanted.pretty else orjson.dumps(obj)


def respond(obj: object, wanted: Wanted, code: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """An answer that is one object."""
    return Response(code, encode(obj, wanted), wanted.media_type, list((headers or {}).items()))


def include_object(request: Request) -> str:
    """How much of each object a Table's rows carry. Raises 422 for an unknown wish."""
    wish = request.parameter("includeObject")
    if wish not in ("", "None", "Metadata", "Object"):
        problem = f"Invalid value: {gostring.quote(wish)}: must be 'Metadata', 'Object', 'None', or empty"
        raise status.bad_request(f"Unable to convert to Table as requested: includeObject: {problem}")
    return wish or "Metadata"


async def outcome(found: Outcome, wanted: Wanted, request: Request, code: int) -> Response:
    """The answer to a write."""
    raw = found.raw()
    if raw is not None and not wanted.transform and not wanted.pretty and wanted.media_type == negotiation.JSON:
        return Response(code, raw)
    return single(found.resource, await found.load(), wanted, request, code)


async def record(resource: Resource, found: Record, wanted: Wanted, request: Request) -> Response:
    """The answer to a read of one object."""
    return await outcome(Outcome(resource, record=found), wanted, request, 200)


def single(resource: Resource, obj: JsonObject, wanted: Wanted, request: Request, code: int) -> Response:
    """One object, transformed if asked for."""
    if wanted.transform == "Table":
        return respond(table(resource, [obj], {}, wanted, include_object(request)), wanted, code)
    if wanted.transform == "PartialObjectMetadata":
        return respond(partial(obj, wanted.transform_version), wanted, code)
    if wanted.transform and not resource.builtin:
        raise status.ApiError(500, "", "content is not a list")
    if wanted.transform:
        raise other_form(wanted.transform, f"not a list ({_go_type(resource, resource.kind)})")
    return respond(obj, wanted, code)


def other_form(transform: str, what: str) -> status.ApiError:
    """The refusal of a transform that does not go with what is asked for."""
    message = f"you requested {transform}, but the requested object is {what}"
    return status.ApiError(406, "NotAcceptable", message)


def _go_type(resource: Resource, kind: str) -> str:
    """The type that holds a kind in the real server."""
    if not resource.builtin:
        return "*unstructured.Unstructured" + ("List" if kind == resource.list_kind else "")
    group = resource.gvr.group
    return f"*{'core' if group in ('', 'events.k8s.io') else group.partition('.')[0]}.{kind}"


def table(
    resource: Resource, objects: Sequence[JsonObject], list_meta: JsonObject, wanted: Wanted, include: str
) -> JsonObject:
    """Objects as a Table in the wanted version."""
    assert resource.tables is not None
    made = resource.tables(objects, list_meta, include)
    version = made["apiVersion"] = f"{_META}/{wanted.transform_version}"
    if include == "Metadata" and wanted.transform_version != "v1":
        for row in made["rows"]:
            row["object"]["apiVersion"] = version
    return made


def partial(obj: JsonObject, version: str) -> JsonObject:
    """An object reduced to its metadata."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"{_META}/{version}",
        "metadata": obj.get("metadata") or {},
    }


async def page(resource: Resource, found: Page, wanted: Wanted, request: Request) -> Response:
    """The answer to a list."""
    metadata = found.metadata()
    if not resource.builtin and not wanted.transform:
        metadata.setdefault("continue", "")  # Go's lists of untyped objects always say it
    plain = not wanted.transform and not wanted.pretty and wanted.media_type == negotiation.JSON
    if plain and found.objects is None:
        head = {"kind": resource.list_kind, "apiVersion": resource.api_version, "metadata": metadata}
        body = orjson.dumps(head)[:-1] + b',"items":[' + b",".join(each.value for each in found.records) + b"]}"
        return Response(200, body)
    objects = found.objects if found.objects is not None else await resource.codec.decode(found.records)
    if wanted.transform == "Table":
        return respond(table(resource, objects, metadata, wanted, include_object(request)), wanted)
    if wanted.transform == "PartialObjectMetadataList":
        items = [partial(each, wanted.transform_version) for each in objects]
        version = f"{_META}/{wanted.transform_version}"
        return respond(
            {"kind": "PartialObjectMetadataList", "apiVersion": version, "metadata": metadata, "items": items}, wanted
        )
    if wanted.transform:
        raise other_form(wanted.transform, f"a list ({_go_type(resource, resource.list_kind)})")
    if resource.builtin:
        objects = [{k: v for k, v in each.items() if k not in ("kind", "apiVersion")} for each in objects]
    return respond(
        {
            "kind": resource.list_kind,
            "apiVersion": resource.api_version,
            "metadata": metadata,
            "items": list(objects),
        },
        wanted,
    )


class Events:
    """Prints a watch's events in the wanted form, each plain one once for all watchers of the resource."""

    def __init__(self, resource: Resource, wanted: Wanted, include: str) -> None:
        self._resource = resource
        self._wanted = wanted
        self._include = include
        self._columns_sent = False
        self._plain = not wanted.transform
        if wanted.media_type != negotiation.JSON or wanted.transform == "PartialObjectMetadataList":
            message = f"only the following media types are accepted: {', '.join(negotiation.STREAM_TYPES)}"
            raise status.ApiError(406, "NotAcceptable", message)

    def ready(self, kind: str, event: Event) -> bytes | None:
        """An event that has been printed before, for whoever watches the same."""
        if not self._plain or event.cache is None:
            return None
        cached: bytes | None = event.cache.get((self._resource, kind))
        return cached

    async def line(self, kind: str, found: Record, revision: int, event: Event | None) -> bytes:
        """An ADDED, MODIFIED or DELETED event; the object carries the event's revision."""
        if event is not None and (cached := self.ready(kind, event)) is not None:
            return cached
        made = await self._make(kind, found, revision)
        if self._plain and event is not None:
            # Watchers of the same resource object see the same bytes; another version or schema is another resource.
            event.cache = {**(event.cache or {}), (self._resource, kind): made}
        return made

    async def _make(self, kind: str, found: Record, revision: int) -> bytes:
        resource = self._resource
        if self._plain and found.revision == revision and resource.codec.is_direct(found):
            return b'{"type":"' + kind.encode() + b'","object":' + resource.single(found.value) + b"}\n"
        obj = await resource.load(found)
        obj["metadata"]["resourceVersion"] = str(revision)
        return orjson.dumps({"type": kind, "object": self._shape(obj, str(revision))}) + b"\n"

    def _shape(self, obj: JsonObject, revision: str) -> JsonObject:
        if self._wanted.transform == "Table":
            made = table(self._resource, [obj], {"resourceVersion": revision}, self._wanted, self._include)
            if self._columns_sent:
                made["columnDefinitions"] = None
            self._columns_sent = True
            return made
        if self._wanted.transform:
            return partial(obj, self._wanted.transform_version)
        return obj

    def bookmark(self, revision: int, annotations: dict[str, str] | None) -> bytes:
        """A BOOKMARK event: an object with nothing but a resourceVersion, and what its kind always shows."""
        metadata: JsonObject = {"resourceVersion": str(revision)}
        if annotations:
            metadata["annotations"] = annotations
        obj: JsonObject = {"kind": self._resource.kind, "apiVersion": self._resource.api_version, "metadata": metadata}
        if self._resource.builtin:
            obj |= normalise(self._resource.struct, {"metadata": metadata})[0]
            self._resource.strategy.complete_bookmark(obj)
        return orjson.dumps({"type": "BOOKMARK", "object": self._shape(obj, str(revision))}) + b"\n"
