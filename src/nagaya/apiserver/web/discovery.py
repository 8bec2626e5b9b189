"""What is served, told to clients: discovery in the old form (many documents) and aggregated (all in one).

The documents follow from the catalog and are made again when it has changed. Built-in groups come first, in the real
server's order; groups of custom resources after them, by name. Within a group the most stable and newest version is
preferred.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Final

import orjson

from nagaya.apiserver.builtins import resources as builtin
from nagaya.apiserver.meta import status
from nagaya.apiserver.meta.api_version import version_order
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.catalog import Catalog
from nagaya.apiserver.registry.resource import Resource, Subresource
from nagaya.apiserver.web import negotiation, present, routes
from nagaya.apiserver.web.handler import Endpoint, Exchange
from nagaya.apiserver.web.request import Response

_AGGREGATED: Final = ("g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList")
_CONTENT_TYPE: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_CUSTOM_VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_WRITES: Final = ("create", "patch", "update")  # not told of what is on its way out, though changes still work


class Discovery:
    """The discovery documents of one server."""

    def __init__(self, catalog: Catalog, address: str) -> None:
        self._catalog = catalog
        self._address = address
        self._generation = -1
        self._groups: dict[str, dict[str, list[Resource]]] = {}
        self._aggregated: dict[str, tuple[bytes, str]] = {}

    def endpoints(self) -> dict[str, Endpoint]:
        """The paths of the documents."""
        return {
            "/api": self._core,
            "/api/*": _missing,
            "/api/v1": self._version,
            "/apis": self._all,
            "/apis/*": self._group_or_version,
        }

    def paths(self) -> list[str]:
        """The paths of all groups and versions, for the list at `/`."""
        self._refresh()
        paths = ["/api", "/api/v1", "/apis", "/apis/"]
        for group, versions in self._groups.items():
            if group:
                paths += [f"/apis/{group}", *(f"/apis/{group}/{version}" for version in versions)]
        return paths

    def _refresh(self) -> None:
        if self._generation == self._catalog.generation:
            return
        groups: dict[str, dict[str, list[Resource]]] = {}
        for group, version in builtin.group_versions():
            groups.setdefault(group, {})[version] = []
        custom: dict[str, dict[str, list[Resource]]] = {}
        for each in self._catalog:
            home = groups if each.gvr.group in groups else custom
            home.setdefault(each.gvr.group, {}).setdefault(each.gvr.version, []).append(each)
        for group in sorted(custom):
            versions = custom[group]
            groups[group] = {version: versions[version] for version in sorted(versions, key=version_order)}
        for versions in groups.values():
            for each_version in versions.values():
                each_version.sort(key=lambda each: each.gvr.resource)
        self._groups = groups
        self._aggregated = {}
        self._generation = self._catalog.generation

    def _core(self, exchange: Exchange) -> Response:
        routes.only_read(exchange.request, *negotiation.BUILTIN_TYPES)
        self._refresh()
        if _wants_aggregated(exchange):
            return self._respond_aggregated(exchange, core=True)
        cidr = {"clientCIDR": "0.0.0.0/0", "serverAddress": self._address}
        body = {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [cidr]}
        return _respond(exchange, body)

    def _all(self, exchange: Exchange) -> Response:
        self._refresh()
        if _wants_aggregated(exchange):
            return self._respond_aggregated(exchange, core=False)
        groups = [_group(group, list(versions)) for group, versions in self._groups.items() if group]
        return _respond(exchange, {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})

    def _version(self, exchange: Exchange) -> Response | None:
        routes.only_read(exchange.request, *negotiation.BUILTIN_TYPES)
        self._refresh()
        return _respond(exchange, _resource_list("", "v1", self._groups[""]["v1"]))

    def _group_or_version(self, exchange: Exchange) -> Response | None:
        self._refresh()
        parts = exchange.request.path.strip("/").split("/")
        versions = self._groups.get(parts[1])
        if versions is None or len(parts) > 3:
            return None
        if len(parts) == 2:
            body: JsonObject = {"kind": "APIGroup", "apiVersion": "v1", **_group(parts[1], list(versions))}
            return _respond(exchange, body)
        if parts[2] not in versions:
            if any(each.builtin for listed in versions.values() for each in listed):
                raise status.no_such_resource()
            return None
        listed = versions[parts[2]]
        if any(each.builtin for each in listed):
            routes.only_read(exchange.request, *negotiation.BUILTIN_TYPES)
        return _respond(exchange, _resource_list(parts[1], parts[2], listed))

    def _respond_aggregated(self, exchange: Exchange, *, core: bool) -> Response:
        key = "core" if core else "groups"
        if key not in self._aggregated:
            items = [_discovered(g, v) for g, v in self._groups.items() if (not g) == core]
            body = orjson.dumps(
                {
                    "kind": "APIGroupDiscoveryList",
                    "apiVersion": "apidiscovery.k8s.io/v2",
                    "metadata": {},
                    "items": items,
                }
            )
            self._aggregated[key] = body, f'"{hashlib.sha512(body).hexdigest().upper()}"'
        body, etag = self._aggregated[key]
        headers = [("ETag", etag), ("Vary", "Accept"), ("Cache-Control", "public")]
        if exchange.request.headers.get("if-none-match") == etag:
            return Response(304, b"", _CONTENT_TYPE, headers)
        return Response(200, body, _CONTENT_TYPE, headers)


def _missing(_: Exchange) -> Response:
    raise status.no_such_resource()


def _wants_aggregated(exchange: Exchange) -> bool:
    """Whether the best of the forms that the client accepts and we have is the aggregated one."""
    for clause in exchange.request.headers.get("accept", "").split(","):
        pieces = {piece.strip() for piece in clause.split(";")}
        if "application/json" in pieces or "*/*" in pieces or "application/*" in pieces:
            if not any(piece.startswith(("as=", "g=")) for piece in pieces):
                return False
            if pieces.issuperset(_AGGREGATED):
                return True
    return False


def _respond(exchange: Exchange, body: JsonObject) -> Response:
    return present.respond(body, negotiation.output(exchange.request, transforms=False))


def _group(group: str, versions: list[str]) -> JsonObject:
    named = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"name": group, "versions": named, "preferredVersion": named[0]}


def verbs_of(resource: Resource | Subresource, *, custom: bool) -> list[str]:
    """Verbs in the order in which the real server lists them."""
    if custom and isinstance(resource, Resource):
        hidden = _WRITES if resource.closed else ()
        return [verb for verb in _CUSTOM_VERBS if verb in resource.verbs and verb not in hidden]
    return sorted(resource.verbs)


def _resource_list(group: str, version: str, resources: list[Resource]) -> JsonObject:
    listed: list[JsonObject] = []
    for each in resources:
        entry: JsonObject = {
            "name": each.gvr.resource,
            "singularName": each.singular,
            "namespaced": each.namespaced,
            "kind": each.kind,
            "verbs": verbs_of(each, custom=not each.builtin),
        }
        if each.short_names:
            entry["shortNames"] = list(each.short_names)
        if each.categories:
            entry["categories"] = list(each.categories)
        if "list" in each.verbs:
            entry["storageVersionHash"] = _storage_hash(each)
        listed.append(entry)
        listed += [_listed_part(each, part) for part in _parts(each)]
    # The oldest of these documents was made before they said their version.
    about = {"kind": "APIResourceList", "apiVersion": "v1"} if group else {"kind": "APIResourceList"}
    return {**about, "groupVersion": f"{group}/{version}" if group else version, "resources": listed}


def _parts(resource: Resource) -> list[Subresource]:
    """Subresources in the order of discovery: by name for built-in kinds, status before scale for custom ones."""
    parts = list(resource.subresources.values())
    return sorted(parts, key=lambda each: each.name) if resource.builtin else parts


def _listed_part(resource: Resource, part: Subresource) -> JsonObject:
    entry: JsonObject = {
        "name": f"{resource.gvr.resource}/{part.name}",
        "singularName": "",
        "namespaced": resource.namespaced,
    }
    if part.kind.group_version != resource.group_version:
        entry |= {"group": part.kind.group, "version": part.kind.version}
    return {**entry, "kind": part.kind.kind, "verbs": verbs_of(part, custom=False)}


def _storage_hash(resource: Resource) -> str:
    stored = f"{resource.gvr.group}/{resource.storage_version}/{resource.kind}"
    return base64.b64encode(hashlib.sha256(stored.encode()).digest()[:8]).decode()


def _discovered(group: str, versions: dict[str, list[Resource]]) -> JsonObject:
    described = [
        {"version": version, "resources": [_described(each) for each in listed], "freshness": "Current"}
        for version, listed in versions.items()
    ]
    return {"metadata": {"name": group} if group else {}, "versions": described}


def _described(resource: Resource) -> JsonObject:
    entry: JsonObject = {
        "resource": resource.gvr.resource,
        "responseKind": _kind(resource, resource.gvr.group, resource.gvr.version, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": verbs_of(resource, custom=not resource.builtin),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if resource.subresources:
        entry["subresources"] = [
            {
                "subresource": part.name,
                "responseKind": _kind(resource, *part.kind),
                "verbs": verbs_of(part, custom=False),
            }
            for part in _parts(resource)
        ]
    return entry


def _kind(resource: Resource, group: str, version: str, kind: str) -> JsonObject:
    """A kind; built-in ones of the resource's own group and version leave those out, as the real server does."""
    if resource.builtin and (group, version) == resource.group_version:
        group = version = ""
    return {"group": group, "version": version, "kind": kind}
