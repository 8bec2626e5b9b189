"""The requests that a resource makes possible, as OpenAPI describes them.

kubectl looks for the PATCH operation of a kind, and in it for the `fieldValidation` parameter, to know whether the
server checks fields itself; without it kubectl refuses to apply anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from nagaya.apiserver.crd.openapi import META, reference
from nagaya.apiserver.meta.gvk import GroupVersionKind
from nagaya.apiserver.meta.status import JsonObject

_STATUS: Final = f"{META}.Status"
_PATCH: Final = f"{META}.Patch"
_DELETE_OPTIONS: Final = f"{META}.DeleteOptions"
_MEDIA: Final = ("application/json", "application/yaml")
_PATCH_MEDIA: Final = ("application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml")
_BUILTIN_PATCH_MEDIA: Final = (*_PATCH_MEDIA, "application/strategic-merge-patch+json")
_ANSWERS: Final = {200: "OK", 201: "Created", 202: "Accepted"}

_PRETTY: Final = ("pretty", "string", "Whether the answer is indented.")
_RESOURCE_VERSION: Final = ("resourceVersion", "string", "The state that the answer must be at least as new as.")
_LIST_OPTIONS: Final = (
    ("allowWatchBookmarks", "boolean", "Whether a watch may send events that only tell how far it got."),
    ("continue", "string", "Where to go on with a list that was cut off."),
    ("fieldSelector", "string", "Only objects with these fields."),
    ("labelSelector", "string", "Only objects with these labels."),
    ("limit", "integer", "How many objects to return at once."),
    _RESOURCE_VERSION,
    ("resourceVersionMatch", "string", "How exactly resourceVersion is meant."),
    ("sendInitialEvents", "boolean", "Whether a watch begins with all objects there are."),
    ("timeoutSeconds", "integer", "When to end the request."),
    ("watch", "boolean", "Whether to send changes as they happen."),
)
_DRY_RUN: Final = ("dryRun", "string", "`All` to go through with everything but the write.")
_WRITE_OPTIONS: Final = (
    _DRY_RUN,
    ("fieldManager", "string", "Who is to own the changed fields."),
    ("fieldValidation", "string", "What to do about unknown and duplicate fields: Ignore, Warn or Strict."),
)
_FORCE: Final = ("force", "boolean", "Whether to take fields from other owners.")
_DELETE: Final = (
    _DRY_RUN,
    ("gracePeriodSeconds", "integer", "How long the object may take to end."),
    (
        "ignoreStoreReadErrorWithClusterBreakingPotential",
        "boolean",
        "Whether to remove an object that cannot be read any more.",
    ),
    ("orphanDependents", "boolean", "Deprecated: whether to leave dependents alone."),
    ("propagationPolicy", "string", "What happens to dependents: Orphan, Background or Foreground."),
)
Parameters = tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class _Verb:
    """What is the same for a verb everywhere. `body` and `answer` are names of schemas, empty for the object's own."""

    method: str
    action: str
    word: str
    parameters: Parameters = ()
    codes: tuple[int, ...] = (200,)
    reads: str | None = None
    answers: str = ""


_LISTS: Final = _Verb("get", "list", "list", _LIST_OPTIONS, answers="list")
_CREATES: Final = _Verb("post", "post", "create", _WRITE_OPTIONS, (200, 201, 202), reads="")
_CLEARS: Final = _Verb("delete", "deletecollection", "deletecollection", _LIST_OPTIONS, answers=_STATUS)
_READS: Final = _Verb("get", "get", "read", (_RESOURCE_VERSION,))
_REPLACES: Final = _Verb("put", "put", "replace", _WRITE_OPTIONS, (200, 201), reads="")
_DELETES: Final = _Verb("delete", "delete", "delete", _DELETE, (200, 202), reads=_DELETE_OPTIONS, answers=_STATUS)
_PATCHES: Final = _Verb("patch", "patch", "patch", (*_WRITE_OPTIONS, _FORCE), reads=_PATCH)

_KUBERNETES_VERBS: Final = {
    "list": "list",
    "create": "create",
    "deletecollection": "deletecollection",
    "read": "get",
    "replace": "update",
    "delete": "delete",
    "patch": "patch",
}
_SENTENCES: Final = {
    "list": "list {kind} objects",
    "create": "create {article} {kind}",
    "deletecollection": "delete all {kind} objects that match",
    "read": "read {part}the {kind}",
    "replace": "replace {part}the {kind}",
    "delete": "delete {article} {kind}",
    "patch": "change some fields of {part}the {kind}",
}


@dataclass(frozen=True, slots=True)
class Part:
    """A subresource: its name, what it is read and written as, and its verbs."""

    name: str
    kind: GroupVersionKind
    model: str
    verbs: frozenset[str]


@dataclass(frozen=True, slots=True)
class Described:
    """A resource as its requests show it. Models are names of published schemas."""

    kind: GroupVersionKind
    plural: str
    namespaced: bool
    verbs: frozenset[str]
    model: str
    list_model: str
    parts: tuple[Part, ...] = ()
    builtin: bool = False


def paths(resource: Described, *, v2: bool) -> dict[str, JsonObject]:
    """The path items for all requests on a resource, by path."""
    return _Paths(resource, v2=v2).build()


class _Paths:
    def __init__(self, resource: Described, *, v2: bool) -> None:
        self._v2 = v2
        self._resource = resource
        self._group, self._version, self._kind = resource.kind
        self._namespaced = resource.namespaced

    def build(self) -> dict[str, JsonObject]:
        resource, plural = self._resource, self._resource.plural
        base = f"/apis/{self._group}/{self._version}" if self._group else f"/api/{self._version}"
        made: dict[str, JsonObject] = {}
        if self._namespaced and "list" in resource.verbs:
            made[f"{base}/{plural}"] = self._path((_LISTS,), everywhere=True)
        inside = ("namespace",) if self._namespaced else ()
        collection = f"{base}/namespaces/{{namespace}}/{plural}" if inside else f"{base}/{plural}"
        made[collection] = self._path(self._offered((_LISTS, _CREATES, _CLEARS), resource.verbs), inside)
        one = (*inside, "name")
        named = self._offered((_READS, _REPLACES, _DELETES, _PATCHES), resource.verbs)
        if named:
            made[f"{collection}/{{name}}"] = self._path(named, one)
        for part in resource.parts:
            verbs = self._offered((_READS, _CREATES, _REPLACES, _PATCHES), part.verbs)
            made[f"{collection}/{{name}}/{part.name}"] = self._path(verbs, one, part)
        return made

    @staticmethod
    def _offered(verbs: Iterable[_Verb], offered: frozenset[str]) -> tuple[_Verb, ...]:
        return tuple(each for each in verbs if _KUBERNETES_VERBS[each.word] in offered)

    def _path(
        self, verbs: Iterable[_Verb], names: tuple[str, ...] = (), part: Part | None = None, everywhere: bool = False
    ) -> JsonObject:
        item: JsonObject = {}
        shared = [self._path_parameter(name) for name in sorted(names)]
        shared.append(self._parameter(_PRETTY))
        for verb in verbs:
            operation = self._operation(verb, part, everywhere)
            if everywhere:
                # With a single operation, all its parameters are shared.
                shared += operation.pop("parameters")
            item[verb.method] = operation
        item["parameters"] = sorted(shared, key=lambda each: str(each["name"]))
        return item

    def _operation(self, verb: _Verb, part: Part | None, everywhere: bool) -> JsonObject:
        tag = f"{identifier(short_group(self._group), False)}_{identifier(self._version, False)}"
        article = "an" if self._kind[:1].lower() in "aeiou" else "a"
        inside = f"the {part.name} of " if part else ""
        operation: JsonObject = {
            "tags": [tag],
            "description": _SENTENCES[verb.word].format(kind=self._kind, article=article, part=inside),
            "operationId": self._operation_id(verb, part.name if part else "", everywhere),
            "parameters": [self._parameter(each) for each in verb.parameters],
        }
        answer = self._schema_name(verb.answers, part)
        operation["responses"] = {
            **{str(code): self._answer(code, answer) for code in verb.codes},
            "401": {"description": "Unauthorized"},
        }
        self._add_body(operation, verb, part)
        operation["x-kubernetes-action"] = verb.action
        kind = part.kind if part else self._resource.kind
        operation["x-kubernetes-group-version-kind"] = {
            "group": kind.group,
            "version": kind.version,
            "kind": kind.kind,
        }
        return operation

    def _add_body(self, operation: JsonObject, verb: _Verb, part: Part | None) -> None:
        patches = _BUILTIN_PATCH_MEDIA if self._resource.builtin else _PATCH_MEDIA
        media = patches if verb.reads == _PATCH else _MEDIA
        if self._v2:
            operation |= {"consumes": list(media), "produces": list(_MEDIA), "schemes": ["https"]}
        if verb.reads is None:
            return
        required = {"required": True} if verb.reads != _DELETE_OPTIONS else {}
        schema = reference(self._schema_name(verb.reads, part), v2=self._v2)
        if self._v2:
            body: JsonObject = {"name": "body", "in": "body", **required, "schema": schema}
            operation["parameters"] = [body, *operation["parameters"]]
        else:
            operation["requestBody"] = {"content": {each: {"schema": schema} for each in media}, **required}

    def _schema_name(self, name: str, part: Part | None) -> str:
        if name == "list":
            return self._resource.list_model
        return name or (part.model if part else self._resource.model)

    def _answer(self, code: int, name: str) -> JsonObject:
        schema = {"schema": reference(name, v2=self._v2)}
        content = schema if self._v2 else {"content": {media: dict(schema) for media in _MEDIA}}
        return {"description": _ANSWERS[code], **content}

    def _parameter(self, parameter: tuple[str, str, str]) -> JsonObject:
        name, kind, description = parameter
        described = {"name": name, "in": "query", "description": description}
        typed = {"type": kind, "uniqueItems": True}
        return {**described, **typed} if self._v2 else {**described, "schema": typed}

    def _path_parameter(self, name: str) -> JsonObject:
        description = f"The name of the {self._kind}." if name == "name" else "The namespace."
        return {**self._parameter((name, "string", description)), "in": "path", "required": True}

    def _operation_id(self, verb: _Verb, subresource: str, everywhere: bool) -> str:
        # The group and version come after the verb proper, of which "collection" is no part.
        word, _, rest = verb.word.partition("collection")
        clears = "Collection" if word != verb.word else ""
        scope = "" if everywhere or not self._namespaced else "Namespaced"
        where = "ForAllNamespaces" if everywhere else ""
        parts = (identifier(short_group(self._group)), identifier(self._version))
        return f"{word}{''.join(parts)}{clears}{rest}{scope}{self._kind}{subresource.title()}{where}"


def short_group(group: str) -> str:
    """A group as it stands in names of operations."""
    return group.removesuffix(".k8s.io") or "core"


def identifier(text: str, capital: bool = True) -> str:
    """A text as a part of a name in camel case: what is no letter or digit starts a new word."""
    result = ""
    for position, char in enumerate(text):
        if char.isalpha() or char == "_" or (position and char.isdigit()):
            result += char.upper() if capital else char
            capital = False
        else:
            capital = True
    return result
