"""Objects from the texts in a ConfigMap or Secret: documents of YAML, JSON objects, or lists of them in JSON.

Objects of one text are created in an order in which each finds what it needs: namespaces before what is in them,
definitions before their objects. The texts keep their order, which is that of their names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from nagaya.api.conversion.manifests import ManifestError, read
from nagaya.api.untyped import Untyped

_ORDER: Final = {
    kind: position
    for position, kind in enumerate(
        (
            "Namespace",
            "CustomResourceDefinition",
            "StorageClass",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "Secret",
            "ConfigMap",
            "ServiceAccount",
            "LimitRange",
            "Pod",
            "ReplicaSet",
            "Endpoint",
        )
    )
}
"""What is created before all else, the first first."""


def objects_in(texts: Iterable[tuple[str, bytes]]) -> tuple[Untyped, ...]:
    """All objects of named texts, ready to be created one after the other. Raises ManifestError."""
    found: list[Untyped] = []
    for name, text in texts:
        contents = _read(text, name)
        found += sorted((_object(each, name) for each in contents), key=lambda each: _ORDER.get(each.kind, len(_ORDER)))
    return tuple(found)


def _read(text: bytes, name: str) -> list[dict[str, Any]]:
    begin = text.lstrip()[:1]
    if begin == b"[":
        try:
            return msgspec.json.decode(text, type=list[dict[str, Any]])
        except (msgspec.MsgspecError, RecursionError) as error:
            raise ManifestError(f"{name}: not a list of objects in JSON: {error}") from error
    if begin == b"{":
        try:
            # YAML would take it too, but not the tabs that JSON may be indented with.
            msgspec.json.decode(text, type=dict[str, Any])
            text = msgspec.json.format(text, indent=0)
        except (msgspec.MsgspecError, RecursionError):
            pass  # further documents follow, or it is YAML's own notation
    return read(text, name)


def _object(content: dict[str, Any], name: str) -> Untyped:
    metadata = content.get("metadata")
    called = metadata.get("name") if isinstance(metadata, dict) else None
    for what, value in (("apiVersion", content.get("apiVersion")), ("kind", content.get("kind")), ("name", called)):
        if not isinstance(value, str) or not value:
            raise ManifestError(f"{name}: an object has no {what}")
    try:
        return Untyped(content)
    except msgspec.ValidationError as error:
        raise ManifestError(f"{name}: {content['kind']} {called} has unusable metadata: {error}") from error
