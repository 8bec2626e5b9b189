"""The OpenAPI documents of one server: v3 by group and version and for the paths around them, v2 as a whole.

Documents are made when they are first asked for and kept until what they describe changes, so that applying one object
does not cost the schemas of all. Each has a hash in its address and an ETag: clients keep them too.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

import orjson

from nagaya.apiserver.crd import openapi as custom
from nagaya.apiserver.custom.definitions import TABLE
from nagaya.apiserver.custom.given_versions import completed
from nagaya.apiserver.meta.gvk import GroupVersion, GroupVersionKind
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.openapi import gnostic, surroundings
from nagaya.apiserver.openapi.paths import Described, Part, paths
from nagaya.apiserver.openapi.schemas import Publisher, model_of
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.resource import Resource
from nagaya.apiserver.web.handler import Endpoint, Exchange
from nagaya.apiserver.web.request import Response

_INFO: Final = {"title": "Kubernetes", "version": "1.36"}
_CUSTOM_INFO: Final = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
_SCALE: Final = GroupVersionKind("autoscaling", "v1", "Scale")


@dataclass(slots=True)
class _Kept:
    """A document with what it was made from: resources, not their places in memory, which others get when they go."""

    made_from: tuple[Resource, ...]
    body: bytes
    etag: str


class Documents:
    """Serves `/openapi/v2` and `/openapi/v3`."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._kept: dict[str, _Kept] = {}
        self._surroundings: dict[str, _Kept] = {}

    def endpoints(self) -> dict[str, Endpoint]:
        """The paths of the documents."""
        return {"/openapi/v2": self._v2, "/openapi/v3": self._root, "/openapi/v3/*": self._v3}

    def _versions(self) -> dict[str, list[Resource]]:
        found: dict[str, list[Resource]] = {}
        for each in self._backend.catalog:
            found.setdefault(_address(each.group_version), []).append(each)
        return found

    def _root(self, exchange: Exchange) -> Response:
        found = {address: self._document(address, resources) for address, resources in self._versions().items()}
        found |= self._around()
        listed = {
            address: {"serverRelativeURL": f"/openapi/v3/{address}?hash={kept.etag}"}
            for address, kept in sorted(found.items())
        }
        return Response(200, orjson.dumps({"paths": listed}), "text/plain; charset=utf-8")

    def _around(self) -> dict[str, _Kept]:
        """The documents that never change: the built-in groups are the same as long as the server runs."""
        if not self._surroundings:
            groups = {each.gvr.group for each in self._backend.catalog if each.builtin and each.gvr.group}
            for address, (described, schemas) in surroundings.documents(groups).items():
                self._surroundings[address] = _printed(_document(described, schemas), ())
        return self._surroundings

    def _v3(self, exchange: Exchange) -> Response | None:
        address = exchange.request.path.removeprefix("/openapi/v3/").strip("/")
        resources = self._versions().get(address)
        kept = self._around().get(address) if resources is None else self._document(address, resources)
        return None if kept is None else _respond(exchange, kept)

    def _v2(self, exchange: Exchange) -> Response:
        resources = list(self._backend.catalog)
        kept = self._keep("v2", resources, v2=True)
        accept = exchange.request.headers.get("accept", "")
        if "proto-openapi" not in accept:
            return _respond(exchange, kept)
        encoded = self._kept.get("v2 protobuf")
        if encoded is None or encoded.made_from != kept.made_from:
            encoded = _Kept(kept.made_from, gnostic.document(orjson.loads(kept.body)), kept.etag)
            self._kept["v2 protobuf"] = encoded
        return _respond(exchange, encoded, gnostic.CONTENT_TYPE)

    def _document(self, address: str, resources: list[Resource]) -> _Kept:
        return self._keep(address, resources, v2=False)

    def _keep(self, address: str, resources: list[Resource], *, v2: bool) -> _Kept:
        # A resource is replaced as a whole when its definition changes, so its identity says which state it is of.
        made_from = tuple(resources)
        kept = self._kept.get(address)
        if kept is None or kept.made_from != made_from:
            kept = _printed(self._describe(resources, v2=v2), made_from)
            self._kept[address] = kept
        return kept

    def _describe(self, resources: list[Resource], *, v2: bool) -> JsonObject:
        publisher = Publisher(v2=v2)
        described: dict[str, JsonObject] = {}
        for name in ("meta/v1.ObjectMeta", "meta/v1.ListMeta", "meta/v1.Status", "meta/v1.DeleteOptions"):
            publisher.add_type(name)
        publisher.add_patch()
        for each in resources:
            if each.builtin:
                described |= paths(_builtin(each, publisher), v2=v2)
            else:
                described |= paths(self._custom(each, publisher, v2=v2), v2=v2)
        if v2:
            return {"swagger": "2.0", "info": _INFO, "paths": described, "definitions": publisher.schemas}
        if not any(each.builtin for each in resources):
            return _document(described, publisher.schemas, _CUSTOM_INFO)
        listed, schemas = surroundings.resources(*resources[0].group_version)
        return _document(listed | described, schemas | publisher.schemas)

    def _custom(self, resource: Resource, publisher: Publisher, *, v2: bool) -> Described:
        name = f"{resource.gvr.resource}.{resource.gvr.group}"
        record = self._backend.store.get(TABLE, name)
        group, version = resource.group_version
        model = custom.model_name(group, version, resource.kind)
        if record is not None:
            make = custom.definitions_v2 if v2 else custom.definitions_v3
            publisher.schemas |= make(completed(record.object(), self._backend.versions)[0], version)
        parts = []
        for part in resource.subresources.values():
            is_scale = part.kind == _SCALE
            parts.append(Part(part.name, part.kind, publisher.add_kind(_SCALE) if is_scale else model, part.verbs))
        list_model = custom.model_name(group, version, resource.list_kind)
        return Described(
            resource.gvk, resource.gvr.resource, resource.namespaced, resource.verbs, model, list_model, tuple(parts)
        )


def _builtin(resource: Resource, publisher: Publisher) -> Described:
    model = publisher.add_kind(resource.gvk)
    list_model = model
    if "list" in resource.verbs:
        list_model = publisher.add_kind(resource.gvk._replace(kind=resource.list_kind))
    parts = []
    for part in resource.subresources.values():
        if part.is_stream:
            continue
        publisher.add_kind(part.kind)
        parts.append(Part(part.name, part.kind, model_of(part.kind), part.verbs))
    return Described(
        resource.gvk,
        resource.gvr.resource,
        resource.namespaced,
        resource.verbs,
        model,
        list_model,
        tuple(parts),
        builtin=True,
    )


def _document(described: JsonObject, schemas: JsonObject, info: JsonObject = _INFO) -> JsonObject:
    components = {"schemas": schemas} if schemas else {}
    return {"openapi": "3.0.0", "info": info, "paths": described, "components": components}


def _printed(document: JsonObject, made_from: tuple[Resource, ...]) -> _Kept:
    body = orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
    return _Kept(made_from, body, hashlib.sha512(body).hexdigest().upper())


def _address(version: GroupVersion) -> str:
    return f"apis/{version}" if version.group else f"api/{version.version}"


def _respond(exchange: Exchange, kept: _Kept, content_type: str = "application/json") -> Response:
    etag = f'"{kept.etag}"'
    headers = [("ETag", etag), ("Vary", "Accept")]
    wanted_hash = exchange.request.parameter("hash")
    if wanted_hash == kept.etag:
        headers.append(("Cache-Control", "public, immutable"))
    if exchange.request.headers.get("if-none-match") == etag:
        return Response(304, b"", content_type, headers)
    return Response(200, kept.body, content_type, headers)
