"""A resource as it is served: its names, its shape, where it is stored and what is special about it.

One `Resource` per group, version and plural name. Versions of the same kind share a table; `codec` leads from the
stored form to this version and back. Built-in resources live as long as the server; those of a CustomResourceDefinition
are replaced as a whole when the definition changes, and a request keeps the one it started with.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

import orjson

from nagaya.apiserver.apply.manager import FieldManager
from nagaya.apiserver.builtins.stored import as_stored
from nagaya.apiserver.meta.gvk import GroupKind, GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.strategy import Strategy
from nagaya.apiserver.schema.types import Struct
from nagaya.apiserver.storage.record import Record

if TYPE_CHECKING:
    from nagaya.apiserver.registry.call import Call
    from nagaya.apiserver.web.negotiation import Wanted
    from nagaya.apiserver.web.request import Response


class Codec(Protocol):
    """Leads between the stored bytes and objects in one served version."""

    def is_direct(self, record: Record) -> bool:
        """Whether the stored bytes are what is served, so that nothing has to be decoded."""
        ...

    async def decode(self, records: Sequence[Record]) -> list[JsonObject]:
        """Objects in the served version, fresh and owned by the caller."""
        ...

    async def encode(self, obj: JsonObject) -> JsonObject:
        """The object as it is to be stored; `Resource.dump` makes the bytes."""
        ...


class Decoder(Protocol):
    """Makes an object of a request's body: drops or reports what the kind does not have, then defaults."""

    def __call__(
        self, value: JsonObject, *, report: bool, body: bytes | None = None, repeated: bool = False
    ) -> tuple[JsonObject, list[str]]:
        """The canonical object and, if asked for, the fields that are unknown (`unknown field "spec.x"`).

        `body` is the JSON that the value was read from, if there is one, and `repeated` says that it has fields twice.
        """
        ...


class TableMaker(Protocol):
    """Prints objects as a Table."""

    def __call__(self, objects: Sequence[JsonObject], list_meta: JsonObject, include: str) -> JsonObject:
        """The Table with a row per object."""
        ...


Handler = Callable[["Call", "Wanted"], Awaitable["Response"]]


@dataclass(slots=True)
class Subresource:
    """A part of an object, or an action on it, with a URL of its own."""

    name: str
    kind: GroupVersionKind
    verbs: frozenset[str]
    strategy: Strategy
    managers: FieldManager | None = None
    # What serves it, by verb, where it is not an update of the object itself (scale, token, eviction, binding).
    handlers: Mapping[str, Handler] = field(default_factory=dict)
    is_stream: bool = False  # neither question nor answer is an object, so there is no schema to publish


@dataclass(slots=True, eq=False)
class Resource:
    """One resource in one version."""

    gvr: GroupVersionResource
    kind: str
    list_kind: str
    singular: str
    namespaced: bool
    verbs: frozenset[str]
    table: str
    strategy: Strategy
    struct: Struct
    codec: Codec
    decoder: Decoder
    tables: TableMaker | None
    managers: FieldManager
    builtin: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: dict[str, Subresource] = field(default_factory=dict)
    error_kind: GroupKind | None = None  # what refusals call the kind, if not by its own name
    storage_version: str = ""  # the version in which objects are kept; this one if not said
    deprecation: str = ""  # a warning sent with every answer
    # Fills in what server-side apply leaves out, where that is not the same as decoding.
    complete: Callable[[JsonObject], JsonObject] | None = None
    closed: str = ""  # why nothing can be created at the moment; what there is can still be changed
    # What serves a verb in place of the write path, for kinds that are not stored (reviews).
    handlers: Mapping[str, Handler] = field(default_factory=dict)
    gvk: GroupVersionKind = field(init=False)
    group_resource: GroupResource = field(init=False)
    group_kind: GroupKind = field(init=False)
    group_version: GroupVersion = field(init=False)
    api_version: str = field(init=False)
    _prefix: bytes = field(init=False)

    def __post_init__(self) -> None:
        self.storage_version = self.storage_version or self.gvr.version
        self.group_version = self.gvr.group_version
        self.api_version = str(self.group_version)
        self.gvk = GroupVersionKind(self.gvr.group, self.gvr.version, self.kind)
        self.group_resource = self.gvr.group_resource
        self.group_kind = GroupKind(self.gvr.group, self.kind)
        self._prefix = f'{{"kind":"{self.kind}","apiVersion":"{self.api_version}",'.encode()

    def key(self, namespace: str, name: str) -> str:
        """Where an object is in the table."""
        return f"{namespace}/{name}" if self.namespaced else name

    def dump(self, obj: JsonObject, revision: int) -> bytes:
        """The bytes to store. Changes the object: it gets the revision as its resourceVersion.

        Built-in kinds are stored without kind and apiVersion, because that is how they stand in lists.
        """
        obj["metadata"]["resourceVersion"] = str(revision)
        if self.builtin:
            obj = {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}
            return orjson.dumps(obj, option=orjson.OPT_SORT_KEYS)
        made = orjson.dumps(obj, option=orjson.OPT_SORT_KEYS)
        if (b".0" in made or b"e+" in made) and _GO_FLOAT.search(made):
            made = orjson.dumps(_go_numbers(obj), option=orjson.OPT_SORT_KEYS)
        return made

    def rehearsed(self, obj: JsonObject) -> JsonObject:
        """An object that is not stored, as it would have come back from the store."""
        return as_stored(self.struct, obj) if self.builtin else obj

    @property
    def refused_kind(self) -> GroupKind:
        """The kind in a refusal of an object."""
        return self.error_kind or self.group_kind

    def single(self, value: bytes) -> bytes:
        """Stored bytes as the object by itself, with kind and apiVersion."""
        return self._prefix + value[1:] if self.builtin else value

    async def load(self, record: Record) -> JsonObject:
        """The object of a record in this version."""
        return (await self.codec.decode([record]))[0]


# Looks like a number that Go writes otherwise; a text may look like it too, which does no harm.
_GO_FLOAT: Final = re.compile(rb"[0-9](?:\.0|e\+[0-9]+)[,}\]]")


def _go_numbers(value: Any) -> Any:
    """A value with its whole numbers written without a fraction, as Go does."""
    if isinstance(value, dict):
        return {key: _go_numbers(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_go_numbers(each) for each in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(value) if abs(value) < 2**63 else value
    return value


class BuiltinCodec:
    """Built-in kinds with one version: what is stored is what is served."""

    def __init__(self, kind: str, api_version: str, struct: Struct) -> None:
        self._kind = kind
        self._api_version = api_version
        self._struct = struct

    def is_direct(self, record: Record) -> bool:
        """Always."""
        return True

    async def decode(self, records: Sequence[Record]) -> list[JsonObject]:
        """The stored objects with their kind."""
        return [{"kind": self._kind, "apiVersion": self._api_version, **record.object()} for record in records]

    async def encode(self, obj: JsonObject) -> JsonObject:
        """The object, less what the real server's storage cannot tell apart (an empty list from none)."""
        return as_stored(self._struct, obj)
