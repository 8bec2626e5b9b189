"""The rules for metadata that kinds of the core group add to those of the write path.

Their finalizers must be qualified with a domain unless Kubernetes itself knows them. And on updates their validation
goes through the general rules again, after the write path has: a client that breaks one is told so twice, and the
counts of causes in answers show it. Without findings there is nothing to repeat, which is the common case.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nagaya.apiserver.meta import object_meta
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid
from nagaya.apiserver.meta.names import NameCheck
from nagaya.apiserver.meta.object_meta import FOREGROUND, ORPHAN
from nagaya.apiserver.meta.status import JsonObject

KUBERNETES: Final = "kubernetes"
_STANDARD_FINALIZERS: Final = frozenset({KUBERNETES, ORPHAN, FOREGROUND})


def finalizer_name(name: str, where: Path) -> list[FieldError]:
    """A finalizer without a domain must be one that Kubernetes knows."""
    if "/" in name or name in _STANDARD_FINALIZERS:
        return []
    return [invalid(where, name, "name is neither a standard finalizer name nor is it fully qualified")]


def finalizers(metadata: JsonObject) -> list[FieldError]:
    """What is wrong with an object's finalizers beyond the general rules."""
    return object_meta.validate_known_finalizers(metadata) if metadata.get("finalizers") else []


def updated(new: JsonObject, old: JsonObject, found: Sequence[FieldError]) -> list[FieldError]:
    """The rules for what may change in metadata, once more."""
    return (object_meta.validate_update(new, old) if found else []) + finalizers(new)


def complete(
    metadata: JsonObject, found: Sequence[FieldError], *, namespaced: bool, name_check: NameCheck
) -> list[FieldError]:
    """The rules for the metadata of a new object, once more on an update."""
    errors: list[FieldError] = []
    if found:
        errors = object_meta.validate(metadata, namespaced=namespaced, name_check=name_check)
    return errors + finalizers(metadata)
