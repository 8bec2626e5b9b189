"""JSON Patch (RFC 6902), with the departures that Kubernetes' clients have come to rely on.

They are: negative indices count from the end; `replace` of a missing member of a map adds it; `test` against null
succeeds for a missing member; `add` and `remove` of the whole document are refused. The document and the patch are
never changed: what an operation touches is copied first, once per patch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import orjson

from nagaya.apiserver.meta import gostring, integers

OPERATIONS_LIMIT: Final = 10_000
COPY_LIMIT: Final = 3 * 1024 * 1024
MOVED_LIMIT: Final = 100_000_000
"""How many items of lists and maps all operations together may copy. After each `copy` they start anew."""

_MEMBERS: Final = frozenset({"op", "path", "from", "value"})


class JsonPatchError(Exception):
    """A patch that cannot be carried out, in the words of the library that the real server uses."""


def unknown_members(patch: Any) -> list[str]:
    """What strict decoding says of members that an operation does not have."""
    if not isinstance(patch, list):
        return []
    return [
        f"unknown field {gostring.quote(f'[{position}].{member}')}"
        for position, operation in enumerate(patch)
        if isinstance(operation, dict)
        for member in operation
        if member not in _MEMBERS
    ]


def malformed(patch: Any, *, lenient: bool) -> str:
    """Why this is no list of operations, or an empty string if it is one.

    The lenient reading only asks for a list of maps, and leaves what is in them to `apply`.
    """
    whole, each = (
        ("jsonpatch.Patch", "jsonpatch.Operation") if lenient else ("[]handlers.jsonPatchOp", "handlers.jsonPatchOp")
    )
    if patch is None:
        return ""
    if not isinstance(patch, list):
        return f"json: cannot unmarshal {json_type(patch)} into Go value of type {whole}"
    for operation in patch:
        if operation is None:
            continue
        if not isinstance(operation, dict):
            return f"json: cannot unmarshal {json_type(operation)} into Go value of type {each}"
        if lenient:
            continue
        for member in operation:
            value = operation[member]
            if member in ("op", "path", "from") and value is not None and not isinstance(value, str):
                found = json_type(value)
                return f"json: cannot unmarshal {found} into Go struct field jsonPatchOp.{member} of type string"
    return ""


def json_type(value: Any) -> str:
    """What Go's decoder calls this sort of value."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, (int, float)):
        return "number"
    return "object" if isinstance(value, dict) else "array"


def apply(document: Any, operations: Sequence[Any], *, copy_limit: int = COPY_LIMIT) -> Any:
    """The document after all operations. Raises JsonPatchError at the first that fails."""
    patching = _Patching(document, copy_limit)
    for operation in operations:
        patching.run(operation or {})
    return patching.root


class _Patching:
    """A document while operations are applied to it."""

    __slots__ = ("_copied", "_limit", "_moved", "_owned", "root")

    def __init__(self, document: Any, copy_limit: int) -> None:
        self.root = document
        # Containers made for this patch, which may be written to. Kept alive, so that an id is never used twice.
        self._owned: dict[int, Any] = {}
        self._copied = 0
        self._moved = 0
        self._limit = copy_limit

    def run(self, operation: dict[str, Any]) -> None:
        kind = operation.get("op")
        match kind:
            case "add":
                self._add(operation)
            case "remove":
                self._remove(operation)
            case "replace":
                self._replace(operation)
            case "move":
                self._move(operation)
            case "test":
                self._test(operation)
            case "copy":
                self._copy(operation)
            case _:
                raise JsonPatchError(f"Unexpected kind: {kind if isinstance(kind, str) else 'unknown'}")

    def _add(self, operation: dict[str, Any]) -> None:
        path = _pointer(operation, "path", "add operation failed to decode path: missing value")
        container, key = self._writable(path)
        if container is None:
            raise JsonPatchError(f'add operation does not apply: doc is missing path: "{path}": missing value')
        _insert(container, key, operation.get("value"), f"error in add for path: '{path}': ")

    def _remove(self, operation: dict[str, Any]) -> None:
        path = _pointer(operation, "path", "remove operation failed to decode path: missing value")
        container, key = self._writable(path)
        if container is None:
            raise JsonPatchError(f'remove operation does not apply: doc is missing path: "{path}": missing value')
        _take(container, key, f"error in remove for path: '{path}': ")

    def _replace(self, operation: dict[str, Any]) -> None:
        path = _pointer(operation, "path", "replace operation failed to decode path: ")
        value = operation.get("value")
        if path == "":
            if not isinstance(value, (dict, list)):
                raise JsonPatchError("replace operation value must be object or array: %!w(<nil>)")
            self.root = value
            return
        container, key = self._writable(path)
        if container is None:
            raise JsonPatchError(f"replace operation does not apply: doc is missing path: {path}: missing value")
        if isinstance(container, dict):
            container[key] = value
            return
        try:
            position = _position(container, key)
        except JsonPatchError:
            problem = f"replace operation does not apply: doc is missing key: {path}: missing value"
            raise JsonPatchError(problem) from None
        container[position] = value

    def _move(self, operation: dict[str, Any]) -> None:
        source = _pointer(operation, "from", "move operation failed to decode from: ")
        container, key = self._writable(source)
        if container is None:
            raise JsonPatchError(f"move operation does not apply: doc is missing from path: {source}: missing value")
        value = _take(container, key, f"error in move for path: '{key}': ")
        path = _pointer(operation, "path", "move operation failed to decode path: ")
        container, key = self._writable(path)
        if container is None:
            problem = f"move operation does not apply: doc is missing destination path: {path}: missing value"
            raise JsonPatchError(problem)
        _insert(container, key, value, f"error in move for path: '{path}': ")

    def _test(self, operation: dict[str, Any]) -> None:
        path = _pointer(operation, "path", "test operation failed to decode path: ")
        expected = operation.get("value")
        if path == "":
            found = self.root
        else:
            container, key = self._readable(path)
            if container is None:
                raise JsonPatchError(f"test operation does not apply: is missing path: {path}: missing value")
            found = _get(container, key, f"error in test for path: '{path}': ")
        if not equal(found, expected):
            raise JsonPatchError(f"testing value {path} failed: test failed")

    def _copy(self, operation: dict[str, Any]) -> None:
        source = _pointer(operation, "from", "copy operation failed to decode from: ")
        container, key = self._readable(source)
        if container is None:
            raise JsonPatchError(f"copy operation does not apply: doc is missing from path: {source}: missing value")
        value = _get(container, key, f"error in copy for from: '{source}': ")
        path = _pointer(operation, "path", "copy operation failed to decode path: missing value")
        # The value will be in two places, so none of it may be written to any more, not even to put it into itself.
        self._owned.clear()
        container, key = self._writable(path)
        if container is None:
            problem = f"copy operation does not apply: doc is missing destination path: {path}: missing value"
            raise JsonPatchError(problem)
        if value is not None:
            self._copied += len(orjson.dumps(value))
        if self._copied > self._limit:
            raise JsonPatchError(
                "Unable to complete the copy, the accumulated size increase of copy is "
                f"{self._copied}, exceeding the limit {self._limit}"
            )
        _insert(container, key, value, "error while adding value during copy: ")

    def _readable(self, path: str) -> tuple[Any, str]:
        """The container of the last segment of a path, or None if the way there does not exist."""
        segments = path.split("/")
        if len(segments) < 2:
            return None, ""
        container = self.root
        for segment in segments[1:-1]:
            try:
                container = _get(container, _unescaped(segment), "")
            except JsonPatchError:
                return None, ""
            if not isinstance(container, (dict, list)):
                return None, ""
        return container, _unescaped(segments[-1])

    def _writable(self, path: str) -> tuple[Any, str]:
        """Like `_readable`, and what it gives may be changed."""
        container, key = self._readable(path)
        if container is None or id(container) in self._owned:
            return container, key
        container = self.root = self._own(self.root)
        for segment in path.split("/")[1:-1]:
            inner = _unescaped(segment)
            step: Any = inner if isinstance(container, dict) else _position(container, inner)
            child = self._own(container[step])
            container[step] = child
            container = child
        return container, key

    def _own(self, container: Any) -> Any:
        if id(container) in self._owned:
            return container
        self._moved += len(container)
        if self._moved > MOVED_LIMIT:
            raise JsonPatchError("the operations change long lists and maps too often")
        copied = container.copy()
        self._owned[id(copied)] = copied
        return copied


def _pointer(operation: dict[str, Any], member: str, problem: str) -> str:
    value = operation.get(member)
    if isinstance(value, str):
        return value
    if problem.endswith(": "):
        problem += (
            f"operation{',' if member == 'from' else ''} missing {member} field: missing value"
            if value is None
            else f"json: cannot unmarshal {json_type(value)} into Go value of type string"
        )
    raise JsonPatchError(problem)


def _unescaped(segment: str) -> str:
    return segment.replace("~1", "/").replace("~0", "~") if "~" in segment else segment


def _number(key: str) -> int:
    try:
        return integers.parse(key)
    except ValueError as error:
        raise JsonPatchError(str(error)) from None


def _position(container: list[Any], key: str, *, extra: int = 0) -> int:
    """The place in a list that a path segment names. With `extra` one past the end is allowed."""
    number = _number(key)
    size = len(container) + extra
    if not -size <= number < size:
        raise JsonPatchError(f"Unable to access invalid index: {number}: invalid index referenced")
    return number + size if number < 0 else number


def _get(container: Any, key: str, context: str) -> Any:
    if isinstance(container, dict):
        return container.get(key)
    try:
        return container[_position(container, key)]
    except JsonPatchError as problem:
        raise JsonPatchError(f"{context}{problem}") from None


def _insert(container: Any, key: str, value: Any, context: str) -> None:
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        try:
            number = _number(key)
        except JsonPatchError as problem:
            raise JsonPatchError(f"{context}value was not a proper array index: '{key}': {problem}") from None
        try:
            container.insert(_position(container, str(number), extra=1), value)
        except JsonPatchError as problem:
            raise JsonPatchError(f"{context}{problem}") from None


def _take(container: Any, key: str, context: str) -> Any:
    if isinstance(container, dict):
        if key not in container:
            raise JsonPatchError(f"{context}Unable to remove nonexistent key: {key}: missing value")
        return container.pop(key)
    try:
        return container.pop(_position(container, key))
    except JsonPatchError as problem:
        raise JsonPatchError(f"{context}{problem}") from None


def equal(left: Any, right: Any) -> bool:
    """Whether a value of the document is the one that a `test` expects.

    Numbers are compared as they are written, and the document writes whole numbers without a fraction part.
    """
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and len(left) == len(right)
            and all(key in right and equal(value, right[key]) for key, value in left.items())
        )
    if isinstance(left, list):
        return (
            isinstance(right, list)
            and len(left) == len(right)
            and all(equal(one, other) for one, other in zip(left, right, strict=True))
        )
    same_type = type(left) is type(right) or (isinstance(left, float) and type(right) is int)
    return same_type and bool(left == right)
