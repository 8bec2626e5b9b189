"""Secrets and ConfigMaps that objects name: credentials, files of machines, certificates of data stores.

They are found by their form, so that those of other people's kinds are found too: `{name}` below a field that is called
after a Secret, `{kind: Secret, name}`, and `{name, key}`. Whether there is one of that name is for others to look up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from nagaya.api.untyped import Untyped


class Named(NamedTuple):
    """A Secret or ConfigMap."""

    kind: str
    namespace: str
    name: str


def namespaces(obj: Untyped) -> frozenset[str]:
    """The namespaces that an object without one names: those that it is about."""
    return frozenset(_namespaces(obj.raw.get("spec")))


def _namespaces(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _namespaces(each)
    elif isinstance(value, Mapping):
        for field, content in value.items():
            if field == "namespace" and isinstance(content, str) and content:
                yield content
            yield from _namespaces(content)


def named(obj: Untyped) -> Iterator[Named]:
    """All that an object names, in its own namespace unless it says another."""
    yield from _below("", obj.raw.get("spec"), obj.metadata.namespace)


def _below(field: str, value: Any, namespace: str) -> Iterator[Named]:
    if isinstance(value, list):
        for each in value:
            yield from _below(field, each, namespace)
    if not isinstance(value, Mapping):
        return
    name, where = value.get("name"), value.get("namespace") or namespace
    if isinstance(name, str) and name and isinstance(where, str) and where:
        kind = _meant(field, value)
        if kind:
            yield Named(kind, where, name)
    for inner, content in value.items():
        yield from _below(inner, content, namespace)


def _meant(field: str, value: Mapping[str, Any]) -> str:
    said = value.get("kind")
    if said in ("Secret", "ConfigMap"):
        return str(said)
    if said is not None:
        return ""
    word = field.lower()
    if "configmap" in word:
        return "ConfigMap"
    if "secret" in word or "credentials" in word or {"key", "keyPath"} & value.keys():
        return "Secret"
    return ""
