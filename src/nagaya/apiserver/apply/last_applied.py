"""The way from client-side to server-side apply.

`kubectl apply` without `--server-side` keeps what it applied in an annotation. Someone who then goes on with
`kubectl apply --server-side` may change those fields without a conflict, as long as the object still has the values
that the annotation says; and the annotation is kept up to date, so that the way back is open. Both only for the
manager `kubectl`.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from nagaya.apiserver.apply import fieldset, validation
from nagaya.apiserver.apply.atoms import Atom
from nagaya.apiserver.apply.compare import compare
from nagaya.apiserver.apply.conflicts import Conflict, Conflicts
from nagaya.apiserver.apply.fieldset import FieldSet
from nagaya.apiserver.apply.value_set import set_of
from nagaya.apiserver.meta import gostring
from nagaya.apiserver.meta.status import JsonObject

MANAGER: Final = "kubectl"
ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
_SIZE_LIMIT: Final = 256 * 1024


def unexpected(found: Conflicts, atom: Atom, live: JsonObject, api_version: str) -> Conflicts | None:
    """The conflicts that the annotation does not excuse; None when it excuses them all."""
    excused = _still_as_applied(atom, live, api_version)
    if excused is None:
        return found
    rest = [conflict for conflict in found.conflicts if not _excused(conflict, excused)]
    return Conflicts(rest) if rest else None


def _excused(conflict: Conflict, fields: FieldSet) -> bool:
    return fieldset.has(fields, conflict.path)


def _still_as_applied(atom: Atom, live: JsonObject, api_version: str) -> FieldSet | None:
    """The fields that have the values they were last applied with on the client; None when that cannot be told."""
    text = _annotations(live).get(ANNOTATION)
    if not text or not validation.fits(atom, live, duplicates=False):
        return None
    try:
        applied = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(applied, dict) or not applied.get("kind") or applied.get("apiVersion") != api_version:
        return None
    if not validation.fits(atom, applied, duplicates=False):
        return None
    fields = set_of(atom, applied)
    for changed in compare(atom, applied, live):
        fields = fieldset.difference(fields, changed)
    return fields


def refreshed(obj: JsonObject, config: JsonObject) -> JsonObject:
    """The object with its annotation, if it has one, telling what was applied now."""
    annotations = _annotations(obj)
    if not annotations.get(ANNOTATION):
        return obj
    written = {**annotations, ANNOTATION: _text(config)}
    if sum(len(key.encode()) + len(value.encode()) for key, value in written.items()) > _SIZE_LIMIT:
        del written[ANNOTATION]
    return {**obj, "metadata": {**obj["metadata"], "annotations": written}}


def _text(config: JsonObject) -> str:
    """A configuration without its annotation, as it is stored."""
    metadata = config.get("metadata")
    if isinstance(metadata, dict) and "annotations" in metadata:
        metadata = dict(metadata)
        annotations = _read(metadata.pop("annotations"))
        if annotations is not None:
            annotations.pop(ANNOTATION, None)
            metadata["annotations"] = annotations
        config = {**config, "metadata": metadata}
    return gostring.json(config) + "\n"


def _annotations(obj: JsonObject) -> dict[str, str]:
    metadata = obj.get("metadata")
    return (_read(metadata.get("annotations")) if isinstance(metadata, dict) else None) or {}


def _read(annotations: Any) -> dict[str, str] | None:
    """Annotations as they are read: null is the empty text, and anything that is not text makes them unreadable."""
    if not isinstance(annotations, dict):
        return None
    if not all(value is None or isinstance(value, str) for value in annotations.values()):
        return None
    return {key: value or "" for key, value in annotations.items()}
