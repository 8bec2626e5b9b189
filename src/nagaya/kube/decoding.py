"""Objects in answers: single ones, pages of a list, events of a watch.

Everything is decoded in one pass straight into its type. Only when that fails is an answer taken apart, to find the
object at fault: one object that cannot be read must not hide the thousands that can. Whoever can live with that passes
`on_problem`; everyone else gets the exception.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Generic, Literal, TypeVar, cast

import msgspec

from nagaya.api.kind import Kind, Object
from nagaya.api.meta import ObjectMeta
from nagaya.api.model import Model
from nagaya.api.untyped import Untyped
from nagaya.foreign_answers import read_json
from nagaya.foreign_text import escape_line
from nagaya.kube.errors import from_status
from nagaya.kube.key import Key
from nagaya.kube.transport import AnswerUnusable, Call, NoAnswer

T = TypeVar("T", bound=Object)
_Item = TypeVar("_Item")
UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises; the last for values within values without end."""
_VERSION: Final = re.compile(r"[0-9]{0,19}")
_LONGEST: Final = 1000
LARGEST_OBJECT: Final = 8 << 20
"""Bytes; etcd takes objects of 1.5 MiB."""
CHANGES: Final = frozenset({"ADDED", "MODIFIED", "DELETED"})
EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]


class Undecodable(NoAnswer):
    """An object that the server has, and that is not what its kind says. Names the field at fault."""

    def __init__(self, kind: Kind[Any], key: Key, resource_version: str, why: str, *, deleted: bool = False) -> None:
        super().__init__(Call("GET", kind.path()), escape_line(why, _LONGEST))
        self.kind = kind
        self.key = key
        self.resource_version = resource_version if _is_version(resource_version) else ""
        self.deleted = deleted

    def __str__(self) -> str:
        shown, promised = escape_line(str(self.key), _LONGEST), self.kind.api_version
        return f"{self.kind} {shown} cannot be read: {self.why}. Does its CRD serve what {promised} promises?"


class ServerVersion(Model):
    """What an API server says of itself at /version."""

    git_version: str = ""


OnProblem = Callable[[Undecodable], None]


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """All objects of a kind, as of one moment."""

    items: list[T]
    resource_version: str


@dataclass(frozen=True, slots=True)
class WatchEvent(Generic[T]):
    """One change. A BOOKMARK has no object: it says that everything up to its version has been told."""

    type: EventType
    object: T | None
    resource_version: str


class Page(msgspec.Struct, Generic[_Item], frozen=True, gc=False):
    """A part of a list."""

    items: list[_Item]
    resource_version: str
    rest: str  # where the next part begins; empty at the end


class _ListMeta(msgspec.Struct, rename="camel", gc=False):
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class _List(msgspec.Struct, Generic[_Item], gc=False):
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    items: list[_Item] | None = None


class _Event(msgspec.Struct, Generic[_Item], gc=False):
    type: str
    object: _Item


class _Head(msgspec.Struct, gc=False):
    metadata: ObjectMeta = ObjectMeta()


class _Outline(msgspec.Struct, gc=False):
    kind: str = ""
    api_version: str = msgspec.field(name="apiVersion", default="")


class _ScaleSpec(msgspec.Struct, gc=False):
    replicas: int = 0  # zero is not encoded by Kubernetes


class _Scale(msgspec.Struct, gc=False):
    spec: _ScaleSpec = msgspec.field(default_factory=_ScaleSpec)


_RAW_LIST: Final = msgspec.json.Decoder(_List[msgspec.Raw])
_RAW_EVENT: Final = msgspec.json.Decoder(_Event[msgspec.Raw])
_HEAD: Final = msgspec.json.Decoder(_Head)
_OUTLINE: Final = msgspec.json.Decoder(_Outline)
_SCALE: Final = msgspec.json.Decoder(_Scale)


@cache
def _list_decoder(model: type[Any]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(_List[model])  # type: ignore[valid-type]  # the type is a value here


@cache
def _event_decoder(model: type[Any]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(_Event[model])  # type: ignore[valid-type]  # the type is a value here


def read_document(shape: type[_Item], path: str, body: bytes) -> _Item:
    """The document at a path, which is no object of a kind. Raises AnswerUnusable."""
    try:
        return msgspec.json.decode(_bounded(body), type=shape)
    except UNREADABLE as error:
        why = escape_line(str(error), _LONGEST)
        raise AnswerUnusable(Call("GET", path), f"the answer cannot be read: {why}") from None


def read_object(kind: Kind[T], body: bytes) -> T:
    """The object in an answer. Raises Undecodable."""
    try:
        return kind.decode(_bounded(body))
    except UNREADABLE as error:
        raise _undecodable(kind, msgspec.Raw(body), error) from error


def _bounded(body: bytes) -> bytes:
    """Values take up to thirty times as much memory as their text."""
    if len(body) > LARGEST_OBJECT:
        raise msgspec.DecodeError(f"it has more than {LARGEST_OBJECT >> 20} MiB")
    return body


def is_status(body: bytes) -> bool:
    """Whether an answer is a Status instead of an object."""
    try:
        outline = _OUTLINE.decode(body)
    except UNREADABLE:
        return False
    return outline.kind == "Status" and outline.api_version == "v1"


def read_replicas(kind: Kind[Any], key: Key, body: bytes) -> int:
    """The number in a Scale. Raises Undecodable."""
    try:
        return _SCALE.decode(body).spec.replicas
    except UNREADABLE as error:
        raise Undecodable(kind, key, "", f"scale: {error}") from error


def read_page(kind: Kind[T], body: bytes, on_problem: OnProblem | None = None, *, most: int) -> Page[T]:
    """A part of a list, of at most so many objects. Raises Undecodable for the first one that is at fault, unless
    somebody takes it."""
    try:
        found = _RAW_LIST.decode(body)
    except UNREADABLE as error:
        raise Undecodable(kind, Key("", "list"), "", str(error)) from error
    if found.items is not None and len(found.items) > most:
        raise Undecodable(kind, Key("", "list"), "", f"{len(found.items)} items are more than {most}")
    if kind.model is not Untyped:
        try:
            page: Page[T] = _page(_list_decoder(kind.model).decode(body))
        except UNREADABLE:
            pass  # below it is found out which object it is
        else:
            if all(_is_version(item.metadata.resource_version) for item in page.items):
                return _checked(kind, page)
    items: list[T] = []
    for raw in found.items or ():
        try:
            items.append(_decode(kind, raw))
        except UNREADABLE as error:
            problem = _undecodable(kind, raw, error)
            if on_problem is None:
                raise problem from error
            on_problem(problem)
    return _checked(kind, Page(items, found.metadata.resource_version, found.metadata.continue_))


def read_event(kind: Kind[T], line: bytes, call: Call, on_problem: OnProblem | None = None) -> WatchEvent[T] | None:
    """One line of a watch; None for an object that cannot be read, once somebody has been told.

    Raises the typed error that an ERROR event carries, and Undecodable.
    """
    if kind.model is not Untyped:
        try:
            event = _event_decoder(kind.model).decode(line)
        except UNREADABLE:
            pass  # an ERROR, a BOOKMARK without its required fields, or an object at fault
        else:
            if event.type in CHANGES and _is_version(event.object.metadata.resource_version):
                return WatchEvent(event.type, event.object, event.object.metadata.resource_version)
    try:
        raw = _RAW_EVENT.decode(line)
    except UNREADABLE as error:
        raise Undecodable(kind, Key("", "watch"), "", str(error)) from error
    if raw.type == "ERROR":
        raise from_status(_status(raw.object), call)
    if raw.type == "BOOKMARK":
        return WatchEvent("BOOKMARK", None, _bookmark(kind, raw.object))
    if raw.type not in CHANGES:
        raise Undecodable(kind, Key("", "watch"), "", f"{raw.type!r} is no type of an event")
    try:
        obj = _decode(kind, raw.object)
    except UNREADABLE as error:
        problem = _undecodable(kind, raw.object, error, deleted=raw.type == "DELETED")
        if on_problem is None:
            raise problem from error
        on_problem(problem)
        return None
    return WatchEvent(cast(EventType, raw.type), obj, obj.metadata.resource_version)


def _decode(kind: Kind[T], raw: msgspec.Raw) -> T:
    obj = kind.decode(raw)
    if not _is_version(obj.metadata.resource_version):
        raise msgspec.ValidationError("resourceVersion is not a number of up to 19 digits - at `$.metadata`")
    return obj


def _checked(kind: Kind[Any], page: Page[T]) -> Page[T]:
    if not _is_version(page.resource_version):
        why = "resourceVersion is not a number of up to 19 digits - at `$.metadata`"
        raise Undecodable(kind, Key("", "list"), "", why)
    return page


def _is_version(text: str) -> bool:
    """Whether versions can be compared; all of Kubernetes' are such numbers."""
    return _VERSION.fullmatch(text) is not None


def _status(raw: msgspec.Raw) -> dict[str, Any]:
    try:
        status = read_json(bytes(raw))
    except ValueError:
        status = None
    return status if isinstance(status, dict) else {}


def _bookmark(kind: Kind[Any], raw: msgspec.Raw) -> str:
    try:
        version = _HEAD.decode(raw).metadata.resource_version
    except UNREADABLE as error:
        raise Undecodable(kind, Key("", "bookmark"), "", str(error)) from error
    if not _is_version(version):
        raise Undecodable(kind, Key("", "bookmark"), "", "its resourceVersion is not a number of up to 19 digits")
    return version


def _page(found: _List[T]) -> Page[T]:
    return Page(found.items or [], found.metadata.resource_version, found.metadata.continue_)


def _undecodable(kind: Kind[Any], raw: msgspec.Raw, error: Exception, *, deleted: bool = False) -> Undecodable:
    try:
        metadata = _HEAD.decode(raw).metadata
    except UNREADABLE:
        metadata = ObjectMeta()
    return Undecodable(
        kind, Key(metadata.namespace, metadata.name), metadata.resource_version, str(error), deleted=deleted
    )
