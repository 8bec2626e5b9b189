"""The ConfigMaps and Secrets with manifests: which there are is in the cache, what is in them is fetched when needed.

ConfigMaps of others, and Secrets above all, are none of our business: of the former only the metadata is kept, and
Secrets of another type are not even listed. The content of what a ClusterResourceSet names is remembered for as long
as it is the same, so that a hundred clusters that come up together do not mean reading and parsing it a hundred times.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from nagaya.addons.resource_set.manifests import objects_in
from nagaya.api.addons.cluster_resource_set import SECRET, SECRET_TYPE, ResourceRef
from nagaya.api.conversion.manifests import ManifestError
from nagaya.api.kind import Kind, Resource
from nagaya.api.untyped import Untyped
from nagaya.kube.cache.cache import Cache
from nagaya.kube.client import Client
from nagaya.kube.errors import NotFound
from nagaya.kube.key import Key

KEPT: Final = 64
"""How many contents are remembered."""


class Head(Resource):
    """An object without its content."""


CONFIG_MAPS: Final = Kind("", "v1", "ConfigMap", "configmaps", Head)
SECRETS: Final = Kind("", "v1", "Secret", "secrets", Head)
_WHOLE: Final = {each.kind: Kind("", "v1", each.kind, each.plural, Untyped) for each in (CONFIG_MAPS, SECRETS)}


@dataclass(slots=True)
class Content:
    """What is in a ConfigMap or Secret."""

    texts: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)
    """By name. Never shown: it may be a secret."""
    problem: str = ""
    """Why it cannot be used; empty if it can."""
    wrong_type: bool = False
    """A Secret that is not meant for this."""
    hash: str = field(init=False)
    _objects: tuple[Untyped, ...] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """The hash is of the content alone, in the order of the names."""
        digest = hashlib.sha256()
        for _, text in self.texts:
            digest.update(text)
        self.hash = f"sha256:{digest.hexdigest()}"

    @property
    def objects(self) -> tuple[Untyped, ...]:
        """The objects in it, in the order to create them. Raises ManifestError."""
        if self.problem:
            raise ManifestError(self.problem)
        if self._objects is None:
            self._objects = objects_in(self.texts)
        return self._objects


def kind_of(reference: ResourceRef) -> Kind[Head]:
    """What a reference refers to."""
    return SECRETS if reference.kind == SECRET else CONFIG_MAPS


def start(cache: Cache) -> None:
    """Have what references may refer to in the cache."""
    cache.start(CONFIG_MAPS)
    cache.start(SECRETS, fields=f"type={SECRET_TYPE}")


class Contents:
    """Reads ConfigMaps and Secrets."""

    def __init__(self, client: Client, cache: Cache) -> None:
        self._client = client
        self._cache = cache
        self._known: OrderedDict[tuple[str, Key], tuple[str, Content]] = OrderedDict()

    async def read(self, reference: ResourceRef, namespace: str) -> Content | None:
        """What is in it now; None if it does not exist."""
        key = Key(namespace, reference.name)
        name = (reference.kind, key)
        head = self._cache.get(kind_of(reference), key)
        known = self._known.get(name)
        if head is not None and known is not None and known[0] == _version(head):
            self._known.move_to_end(name)
            return known[1]
        try:
            found = await self._client.get(_WHOLE[kind_of(reference).kind], namespace, reference.name)
        except NotFound:
            self._known.pop(name, None)
            return None
        content = content_of(found)
        self._known[name] = (_version(found), content)
        self._known.move_to_end(name)
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
        return content


def content_of(obj: Untyped) -> Content:
    """The texts in a ConfigMap or Secret."""
    secret = obj.kind == SECRET
    if secret and obj.raw.get("type") != SECRET_TYPE:
        return Content(wrong_type=True, problem=f"only Secrets of the type {SECRET_TYPE} are used")
    data = obj.raw.get("data")
    if not isinstance(data, Mapping):
        return Content(problem=f"{obj.kind} {Key.of(obj)} has no data")
    try:
        return Content(tuple((name, _bytes(data[name], secret)) for name in sorted(data)))
    except (binascii.Error, TypeError, ValueError):
        return Content(problem=f"{obj.kind} {Key.of(obj)} has data that is not base64")


def _bytes(value: Any, encoded: bool) -> bytes:
    return base64.b64decode(value, validate=True) if encoded else str(value).encode()


def _version(obj: Head | Untyped) -> str:
    return f"{obj.metadata.uid} {obj.metadata.resource_version}"
