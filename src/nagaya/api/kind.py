"""Which resource a model is served as, and how its objects are read and written.

A `Kind` is the only thing a client needs to know of a type. It is a constant of the module that defines the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, Protocol, TypeVar, cast

import msgspec

from nagaya.api.meta import ObjectMeta
from nagaya.api.model import Model
from nagaya.api.untyped import Untyped


class Object(Protocol):
    """Anything that is kept in a Kubernetes API."""

    @property
    def metadata(self) -> ObjectMeta:
        """Name, owners, labels and so on."""
        ...


class Resource(Model):
    """Base of typed objects. What kind it is of is known from its type, and written by `Kind.encode`."""

    metadata: ObjectMeta = ObjectMeta()


T = TypeVar("T", bound=Object)


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """A resource of an API group at one version."""

    group: str
    version: str
    kind: str
    plural: str
    model: type[T]
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """Group and version, as in `apps/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The path of the collection, of an object, or of a part of it. Without a namespace: of all namespaces."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        place = f"/namespaces/{_segment(namespace)}" if self.namespaced and namespace else ""
        return "/".join(part for part in (f"{root}{place}/{self.plural}", _segment(name), subresource) if part)

    def decode(self, data: bytes | msgspec.Raw) -> T:
        """An object from JSON. Raises msgspec.ValidationError, which names the field, if it is not of this kind."""
        if self.model is Untyped:
            return cast(T, self._untyped(msgspec.json.decode(data, type=dict[str, Any])))
        return cast(T, _decoder(self.model).decode(data))

    def convert(self, content: Mapping[str, Any]) -> T:
        """An object from what JSON or YAML was parsed into."""
        if self.model is Untyped:
            return cast(T, self._untyped(content))
        return msgspec.convert(content, self.model)

    def content(self, obj: T) -> dict[str, Any]:
        """An object as plain values, complete with its apiVersion and kind: what is sent."""
        values: Any = obj.raw if isinstance(obj, Untyped) else msgspec.to_builtins(obj)
        return {**values, "apiVersion": self.api_version, "kind": self.kind}

    def _untyped(self, content: Mapping[str, Any]) -> Untyped:
        # Lists leave out what all their items share.
        raw = {"apiVersion": self.api_version, "kind": self.kind, **content}
        metadata = raw.get("metadata")
        if isinstance(metadata, Mapping) and "managedFields" in metadata:
            raw["metadata"] = {name: value for name, value in metadata.items() if name != "managedFields"}
        return Untyped(raw)


def _segment(text: str) -> str:
    """A name or namespace as one part of a path. Names are read from objects of tenants: one that holds `/` or is `..`
    names nothing, and must not lead to an object of another namespace."""
    return text.replace(".", "%2E") if text in (".", "..") else text.replace("/", "%2F")


@cache
def _decoder(model: type[Any]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(model)
