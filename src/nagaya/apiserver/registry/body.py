"""From a request's body to an object of the right kind.

JSON, YAML and (for built-in kinds) protobuf are read. What the kind does not have is dropped and, as `fieldValidation`
asks, passed over, answered with a warning, or refused. A body may leave out kind and apiVersion: the URL says them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from nagaya.apiserver import protobuf
from nagaya.apiserver.builtins.decode import interpret
from nagaya.apiserver.builtins.facts import is_known_kind
from nagaya.apiserver.meta import field_errors, gostring, govalue, jsontext, status, yamltext
from nagaya.apiserver.meta.decode_error import DecodeError
from nagaya.apiserver.meta.gvk import GroupVersion, GroupVersionKind
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.resource import Decoder
from nagaya.apiserver.web import negotiation

_SHOWN = 30
_SMALL = 32 * 1024  # bytes of a body that cannot become too large: built-in kinds add 200 bytes to an item at most
_MOST_PARTS = 200_000
_MOST_PATHS = 32 * 1024 * 1024  # characters; those of the largest definitions take a third of it
_SCHEME = "pkg/runtime/scheme.go:111"  # where the real server says it looked


def read_object(call: Call, kind: GroupVersionKind, decoder: Decoder, validation: str) -> JsonObject:
    """The object in the body of a create or update, decoded and defaulted."""
    resource = call.resource
    types = negotiation.BUILTIN_TYPES if resource.builtin else negotiation.CUSTOM_TYPES
    media_type = negotiation.input_type(call.request.headers.get("content-type", ""), types)
    body = call.request.body
    duplicates: list[str] = []
    text: bytes | None = None
    try:
        if media_type == negotiation.PROTOBUF:
            value: Any = _from_protobuf(body, kind)
        elif media_type == negotiation.YAML:
            value, duplicates = yamltext.parse(body)
        else:
            text = body
            value, duplicates = jsontext.parse(body)
        api_version, named = interpret(value)
    except jsontext.JsonError as error:
        raise unrecognized(kind, body, f"couldn't get version/kind; json parse error: {error}") from None
    except DecodeError as error:
        raise unrecognized(kind, body, str(error)) from None
    value = value or {}
    if len(body) > _SMALL:
        check_extent(value)
    given = _check_kind(value, api_version, named, kind, body, builtin=resource.builtin)
    try:
        obj, found = decoder(value, report=validation != "Ignore", body=text, repeated=bool(duplicates))
    except DecodeError as error:
        raise mishandled(given, kind, str(error)) from None
    if len(body) > _SMALL:
        check_extent(obj)  # with its defaults
    if validation != "Ignore":
        # Built-in kinds list repeated fields in their place among the findings, custom ones before all others.
        problems = found if resource.builtin and text is not None else [*duplicates, *found]
        strict(call, validation, problems, lambda problem: mishandled(given, kind, problem))
    return obj


def check_extent(value: Any) -> None:
    """Raise 413 for an object that could not be stored anyway, before it costs more: each item of two bytes may get
    defaults and errors of its own. Managed fields do not count: most are dropped or merged.
    """
    try:
        text = orjson.dumps(value)
    except TypeError:
        return  # nested too deeply for it, or with numbers that have no place in an object: decoding says so
    metadata = value.get("metadata") if isinstance(value, dict) else None
    managed = metadata.get("managedFields") if isinstance(metadata, dict) else None
    size = len(text) - (len(orjson.dumps(managed)) if managed else 0)
    if size > status.OBJECT_LIMIT:
        raise status.object_too_large(size)
    if len(text) > _SMALL:
        _check_parts(value)


def _check_parts(value: Any) -> None:
    """Bound the number of lists and maps, and the length of the paths of all parts together: a finding names the path
    of what it is about, and a name of a megabyte may stand above a hundred thousand parts."""
    parts = characters = 0
    level: list[tuple[Any, int]] = [(value, 0)]
    while level:
        below: list[tuple[Any, int]] = []
        for container, path in level:
            is_map = container.__class__ is dict
            for name, item in container.items() if is_map else enumerate(container):
                length = path + (len(name) if isinstance(name, str) else 1)
                characters += length
                if item.__class__ is list:
                    below.append((item, length))
                elif item.__class__ is dict:
                    if not is_map:  # its texts may tell it from other items
                        for each in item.values():
                            length += len(each) if each.__class__ is str else 0
                    below.append((item, length))
        parts += len(below)
        if parts > _MOST_PARTS:
            raise status.too_large(f"the object has more than {_MOST_PARTS} lists and maps. Split it or shorten it")
        if characters > _MOST_PATHS:
            raise status.too_large("names in the object are too long for the number of parts below them. Shorten them")
        level = below


def strict(call: Call, validation: str, problems: Sequence[str], refuse: Callable[[str], ApiError]) -> None:
    """Warn of what strict decoding found, or refuse it."""
    if not problems:
        return
    if validation == "Strict":
        raise refuse(f"strict decoding error: {', '.join(problems)}")
    for problem in problems:
        call.warn(problem)


def _from_protobuf(body: bytes, kind: GroupVersionKind) -> Any:
    api_version, found, obj = protobuf.decode(body, default=kind)
    return {"kind": found or kind.kind, "apiVersion": api_version or kind.api_version, **obj}


def _check_kind(
    value: JsonObject, api_version: str, named: str, kind: GroupVersionKind, body: bytes, *, builtin: bool
) -> GroupVersionKind:
    """Hold a body to the kind that the URL names, and fill in what it leaves out."""
    if not builtin and not named:
        problem = f"Object 'Kind' is missing in '{body.decode(errors='replace')}'"
        raise unrecognized(kind, body, problem)
    try:
        version = GroupVersion.parse(api_version) if api_version or not builtin else kind.group_version
    except ValueError as error:
        raise unrecognized(kind, body, str(error)) from None
    given = GroupVersionKind(version.group, version.version, named or kind.kind)
    if given != kind:
        if builtin:
            raise mishandled(given, kind, _other_kind(given, kind))
        if version != kind.group_version:
            raise status.bad_request(
                f"the API version in the data ({version}) does not match the expected API version ({kind.api_version})"
            )
        raise _must_be(value, given, "kind", given.kind, kind.kind)
    value["apiVersion"], value["kind"] = kind.api_version, kind.kind
    return given


def _must_be(value: JsonObject, given: GroupVersionKind, member: str, said: str, right: str) -> ApiError:
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    name = name if isinstance(name, str) else ""
    return status.invalid(given.group_kind, name, [field_errors.invalid(member, said, f"must be {right}")])


def _other_kind(given: GroupVersionKind, kind: GroupVersionKind) -> str:
    if not is_known_kind(given):
        return unregistered(given.api_version, given.kind)
    internal = "core" if not kind.group else kind.group.partition(".")[0]
    return f"converting ({given.version}.{given.kind}) to ({internal}.{kind.kind}): unknown conversion"


def unregistered(api_version: str, kind: str) -> str:
    """What is said of a kind that the server does not know at that place."""
    return f'no kind "{kind}" is registered for version "{api_version}" in scheme "{_SCHEME}"'


def check_patched_kind(
    value: JsonObject, kind: GroupVersionKind, refuse: Callable[[str], ApiError], *, builtin: bool
) -> None:
    """Hold a patched object to its kind, which a patch may leave out only for built-in kinds."""
    try:
        api_version, named = interpret(value)
        version = GroupVersion.parse(api_version) if api_version else kind.group_version
    except (DecodeError, ValueError) as error:
        raise refuse(str(error)) from None
    if not named and not builtin:
        raise refuse(f"Object 'Kind' is missing in '{govalue.compact_json(value)}'")
    given = GroupVersionKind(version.group, version.version, named or kind.kind)
    if given == kind:
        return
    if builtin:
        raise refuse(_other_kind(given, kind))
    if version != kind.group_version:
        raise _must_be(value, given, "apiVersion", api_version, kind.api_version)
    raise _must_be(value, given, "kind", named, kind.kind)


def mishandled(given: GroupVersionKind, kind: GroupVersionKind, problem: str) -> ApiError:
    """The refusal of a body whose kind is known but which is not right."""
    version = gostring.quote(given.version)
    return status.bad_request(f"{given.kind} in version {version} cannot be handled as a {kind.kind}: {problem}")


def unrecognized(kind: GroupVersionKind, body: bytes, problem: str) -> ApiError:
    """The refusal of a body that cannot be read at all."""
    if not body:
        shown = "<empty>"
    elif body.startswith(b"{"):
        shown = body[:_SHOWN].decode(errors="replace")
    else:
        shown = body[:_SHOWN].hex()
    if len(body) > _SHOWN:
        shown += " ..."
    message = f"the object provided is unrecognized (must be of type {kind.kind}): {problem} ({shown})"
    return status.bad_request(message)
