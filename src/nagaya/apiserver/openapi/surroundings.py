"""What the paths around the objects answer, as OpenAPI describes it: discovery, the version, the keys of tokens.

Clients that generate code ask for these too. They say the same in every server, except for the names of the built-in
groups: each has a document of its own beside those of its versions. Groups of custom resources have none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from nagaya.apiserver.crd.openapi import META, reference
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.openapi.paths import identifier, short_group

_JSON: Final = "application/json"
_MEDIA: Final = (_JSON, "application/yaml")
_VERSION: Final = "io.k8s.apimachinery.pkg.version.Info"

# Fields by type. A type with a capital is another of these, brackets make a list, and a mark that it is always there.
_TYPES: Final[Mapping[str, Mapping[str, str]]] = {
    "APIVersions": {
        "versions": "[string]!",
        "serverAddressByClientCIDRs": "[ServerAddressByClientCIDR]!",
    },
    "APIGroupList": {"groups": "[APIGroup]!"},
    "APIGroup": {
        "name": "string!",
        "versions": "[GroupVersionForDiscovery]!",
        "preferredVersion": "GroupVersionForDiscovery",
        "serverAddressByClientCIDRs": "[ServerAddressByClientCIDR]",
    },
    "APIResourceList": {"groupVersion": "string!", "resources": "[APIResource]!"},
    "APIResource": {
        "name": "string!",
        "singularName": "string!",
        "namespaced": "boolean!",
        "kind": "string!",
        "verbs": "[string]!",
        "categories": "[string]",
        "group": "string",
        "shortNames": "[string]",
        "storageVersionHash": "string",
        "version": "string",
    },
    "GroupVersionForDiscovery": {"groupVersion": "string!", "version": "string!"},
    "ServerAddressByClientCIDR": {"clientCIDR": "string!", "serverAddress": "string!"},
}
_VERSION_ALWAYS: Final = (
    *("major", "minor", "gitVersion", "gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform"),
)
_VERSION_SOMETIMES: Final = ("emulationMajor", "emulationMinor", "minCompatibilityMajor", "minCompatibilityMinor")
_KINDS: Final = ("APIVersions", "APIGroupList", "APIGroup", "APIResourceList")

Described = tuple[dict[str, JsonObject], dict[str, JsonObject]]
"""Path items and the schemas that they refer to."""


def documents(groups: Iterable[str]) -> dict[str, Described]:
    """Everything but objects and versions of groups, by the address of the document."""
    made = {
        "api": _discovery("/api/", "core", "getCoreAPIVersions", "list the versions of the core group", "APIVersions"),
        "apis": _discovery("/apis/", "apis", "getAPIVersions", "list the groups that are served", "APIGroupList"),
        "version": _version(),
        ".well-known/openid-configuration": _text(
            "/.well-known/openid-configuration/",
            "WellKnown",
            "getServiceAccountIssuerOpenIDConfiguration",
            "tell who issues service account tokens",
            _JSON,
        ),
        "openid/v1/jwks": _text(
            "/openid/v1/jwks/",
            "openid",
            "getServiceAccountIssuerOpenIDKeyset",
            "tell the public keys of service account tokens",
            "application/jwk-set+json",
        ),
    }
    for group in groups:
        short = short_group(group)
        operation = f"get{identifier(short)}APIGroup"
        path, sentence = f"/apis/{group}/", "tell the versions of the group"
        made[f"apis/{group}"] = _discovery(path, identifier(short, False), operation, sentence, "APIGroup")
    return made


def resources(group: str, version: str) -> Described:
    """The list of resources in a version of a built-in group."""
    path = f"/apis/{group}/{version}/" if group else f"/api/{version}/"
    short = short_group(group)
    operation = f"get{identifier(short)}{identifier(version)}APIResources"
    tag = f"{identifier(short, False)}_{identifier(version, False)}"
    return _discovery(path, tag, operation, "list the resources that are served", "APIResourceList")


def _discovery(path: str, tag: str, operation: str, sentence: str, kind: str) -> Described:
    schemas: dict[str, JsonObject] = {}
    _add(kind, schemas)
    answer = reference(f"{META}.{kind}", v2=False)
    return {path: _read(tag, operation, sentence, dict.fromkeys(_MEDIA, answer))}, schemas


def _version() -> Described:
    schema: JsonObject = {
        "type": "object",
        "required": list(_VERSION_ALWAYS),
        "properties": {
            **{name: {"type": "string", "default": ""} for name in _VERSION_ALWAYS},
            **{name: {"type": "string"} for name in _VERSION_SOMETIMES},
        },
    }
    answer = {_JSON: reference(_VERSION, v2=False)}
    return {"/version/": _read("version", "getCodeVersion", "tell what is served", answer)}, {_VERSION: schema}


def _text(path: str, tag: str, operation: str, sentence: str, media: str) -> Described:
    return {path: _read(tag, operation, sentence, {media: {"type": "string"}})}, {}


def _read(tag: str, operation: str, sentence: str, answers: Mapping[str, JsonObject]) -> JsonObject:
    content = {media: {"schema": schema} for media, schema in answers.items()}
    responses = {"200": {"description": "OK", "content": content}, "401": {"description": "Unauthorized"}}
    return {
        "get": {"tags": [tag], "description": sentence, "operationId": operation, "responses": responses},
    }


def _add(name: str, schemas: dict[str, JsonObject]) -> None:
    """Publish a type and those it refers to."""
    if f"{META}.{name}" in schemas:
        return
    schema: JsonObject = {"type": "object"}
    schemas[f"{META}.{name}"] = schema
    fields = _TYPES[name]
    schema["required"] = [field for field, kind in fields.items() if kind.endswith("!")]
    schema["properties"] = {field: _field(kind, schemas) for field, kind in fields.items()}
    if name in _KINDS:
        schema["properties"] |= {"kind": {"type": "string"}, "apiVersion": {"type": "string"}}
        schema["x-kubernetes-group-version-kind"] = [{"group": "", "version": "v1", "kind": name}]


def _field(kind: str, schemas: dict[str, JsonObject]) -> JsonObject:
    always, kind = kind.endswith("!"), kind.removesuffix("!")
    if kind.startswith("["):
        items = _field(f"{kind[1:-1]}!", schemas)
        # Of all lists, verbs alone say nothing of how they are merged; nobody merges these documents.
        return {"type": "array", "items": items, "x-kubernetes-list-type": "atomic"}
    if kind[0].isupper():
        _add(kind, schemas)
        return {"allOf": [reference(f"{META}.{kind}", v2=False)], "default": {}}
    empty: object = False if kind == "boolean" else ""
    return {"type": kind, "default": empty} if always else {"type": kind}
