"""JSON patches (RFC 6902) of a configuration that users may change.

The document that is given is never changed. An operation that cannot be carried out is an error that names it: a patch
that silently does nothing would leave kubelets with settings that nobody asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Final

from nagaya.kube.patches import same

_OPERATIONS: Final = ("add", "remove", "replace", "move", "copy", "test")
_MISSING: Final = object()
_LARGEST: Final = 32 << 10
"""Characters and values. The configuration of a kubelet has a tenth of it; a hundred operations on so many take half a
second."""
_DEEPEST: Final = 64


class PatchFailed(ValueError):
    """An operation that cannot be carried out."""


def apply(document: Any, operations: Sequence[Mapping[str, Any]]) -> Any:
    """The document after all operations, in order. Raises PatchFailed."""
    document = deepcopy(document)
    for number, operation in enumerate(operations, 1):
        try:
            _expect_small(operation)
            document = _run(document, operation)
            _expect_small(document)
        except PatchFailed as problem:
            described = f"{operation.get('op')} {operation.get('path')}"
            raise PatchFailed(f"patch {number} ({described}) cannot be applied: {problem}") from None
    return document


def _expect_small(document: Any) -> None:
    """A few copies of a value into itself would otherwise take all memory. Checked after each operation, because each
    can at most double what is there."""
    size, level = 0, [document]
    for _ in range(_DEEPEST):
        size += sum(1 + (len(each) if isinstance(each, str) else 0) for each in level)
        containers = [each for each in level if isinstance(each, Mapping | list)]
        if not containers or size > _LARGEST:
            break
        level = [
            part for each in containers for part in ((*each, *each.values()) if isinstance(each, Mapping) else each)
        ]
    else:
        raise PatchFailed(f"the result is nested more than {_DEEPEST} levels deep")
    if size > _LARGEST:
        raise PatchFailed(f"the result is larger than {_LARGEST >> 10} KiB")


def _run(document: Any, operation: Mapping[str, Any]) -> Any:
    verb, path = operation.get("op"), _pointer(operation, "path")
    if verb not in _OPERATIONS:
        raise PatchFailed(f"op is none of {', '.join(_OPERATIONS)}")
    if verb in ("add", "replace", "test") and "value" not in operation:
        raise PatchFailed("it has no value")
    if verb == "test":
        if not same(_get(document, path), operation["value"]):
            raise PatchFailed("the value there is another")
        return document
    if verb == "remove":
        return _remove(document, path)
    if verb in ("move", "copy"):
        source = _pointer(operation, "from")
        value = deepcopy(_get(document, source))
        if verb == "move":
            if path[: len(source)] == source and path != source:
                raise PatchFailed("a value cannot be moved into itself")
            document = _remove(document, source)
        return _add(document, path, value)
    value = deepcopy(operation["value"])
    if verb == "replace":
        _get(document, path)
        document = _remove(document, path) if path else document
    return _add(document, path, value)


def _pointer(operation: Mapping[str, Any], member: str) -> list[str]:
    text = operation.get(member)
    if not isinstance(text, str) or (text and not text.startswith("/")):
        raise PatchFailed(f"{member} is not a JSON pointer such as /evictionHard/memory.available")
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _get(document: Any, path: Sequence[str]) -> Any:
    for part in path:
        document = _member(document, part)
        if document is _MISSING:
            raise PatchFailed(f"there is no {part}")
    return document


def _member(container: Any, part: str) -> Any:
    if isinstance(container, dict):
        return container.get(part, _MISSING)
    if isinstance(container, list):
        position = _position(part)
        return container[position] if position < len(container) else _MISSING
    return _MISSING


def _add(document: Any, path: Sequence[str], value: Any) -> Any:
    if not path:
        return value
    container = _get(document, path[:-1])
    if isinstance(container, dict):
        container[path[-1]] = value
        return document
    if not isinstance(container, list):
        raise PatchFailed("its parent is neither an object nor a list")
    position = len(container) if path[-1] == "-" else _position(path[-1])
    if position > len(container):
        raise PatchFailed(f"the list has only {len(container)} items")
    container.insert(position, value)
    return document


def _remove(document: Any, path: Sequence[str]) -> Any:
    if not path:
        raise PatchFailed("the whole document cannot be removed")
    container = _get(document, path[:-1])
    if _member(container, path[-1]) is _MISSING:
        raise PatchFailed(f"there is no {path[-1]}")
    if isinstance(container, dict):
        del container[path[-1]]
    else:
        del container[_position(path[-1])]
    return document


def _position(part: str) -> int:
    if not part.isdecimal() or not part.isascii() or (len(part) > 1 and part[0] == "0"):
        raise PatchFailed(f"{part!r} is not a position in a list")
    return int(part)
