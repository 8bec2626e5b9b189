"""What can be said about literals before an expression ever runs: dates, durations and patterns that are none, lists of
mixed types, and formats that do not fit their values. Runs on checked trees only."""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.cel import conversions, types
from nagaya.apiserver.cel.library.format_string import WRONG_TYPE, Clause, clauses
from nagaya.apiserver.cel.source import Issues
from nagaya.apiserver.cel.syntax import Call, ListLiteral, Literal, MapLiteral, Node, children
from nagaya.apiserver.cel.types import CelType, Kind
from nagaya.apiserver.cel.values import CelError
from nagaya.apiserver.crd import patterns

_FITS: Final = {
    "d": {Kind.INT, Kind.UINT},
    "f": {Kind.DOUBLE, Kind.STRING},
    "e": {Kind.DOUBLE, Kind.STRING},
    "b": {Kind.INT, Kind.UINT, Kind.BOOL},
    "x": {Kind.INT, Kind.UINT, Kind.STRING, Kind.BYTES},
    "o": {Kind.INT, Kind.UINT},
    "s": {
        Kind.LIST,
        Kind.MAP,
        Kind.INT,
        Kind.UINT,
        Kind.DOUBLE,
        Kind.BOOL,
        Kind.STRING,
        Kind.TIMESTAMP,
        Kind.BYTES,
        Kind.DURATION,
        Kind.TYPE,
        Kind.NULL,
    },
}


def validate(root: Node, issues: Issues) -> None:
    """Report every literal that cannot work."""
    _walk(root, issues, mixing_allowed=False)


def _walk(node: Node, issues: Issues, *, mixing_allowed: bool) -> None:
    match node:
        case Call():
            _call(node, issues)
            mixing_allowed = mixing_allowed or node.function == "format"
        case ListLiteral() if not mixing_allowed:
            _list(node, issues)
        case MapLiteral() if not mixing_allowed:
            _map(node, issues)
    for child in children(node):
        _walk(child, issues, mixing_allowed=mixing_allowed)


def _call(node: Call, issues: Issues) -> None:
    if node.function in ("duration", "timestamp", "matches") and node.args:
        argument = node.args[0]
        if isinstance(argument, Literal) and not _is_valid(node.function, argument):
            issues.report(argument.at, f"invalid {node.function} argument")
    elif node.function == "format" and isinstance(node.target, Literal) and len(node.args) == 1:
        values = node.args[0]
        if isinstance(node.target.value, str) and isinstance(values, ListLiteral):
            _format(node, node.target.value, values.elements, issues)


def _is_valid(function: str, argument: Literal) -> bool:
    try:
        if function == "matches":
            patterns.compiled(argument.value)
        elif function == "duration":
            conversions.to_duration(argument.value)
        else:
            conversions.to_timestamp(argument.value)
    except (CelError, ValueError):
        return False
    return True


def _mismatch(issues: Issues, node: Node, expected: CelType, found: CelType) -> None:
    issues.report(node.at, f"expected type '{expected}' but found '{found}'")


def _inner(given: CelType, optional: bool) -> CelType:
    return given.params[0] if optional and given.params else given


def _list(node: ListLiteral, issues: Issues) -> None:
    expected: CelType | None = None
    for index, element in enumerate(node.elements):
        found = _inner(element.type, index in node.optional)
        if expected is None:
            expected = found
        elif expected != found:
            _mismatch(issues, element, expected, found)
            return


def _map(node: MapLiteral, issues: Issues) -> None:
    key_type: CelType | None = None
    value_type: CelType | None = None
    for entry in node.entries:
        assert entry.key is not None
        found = _inner(entry.value.type, entry.optional)
        if key_type is None or value_type is None:
            key_type, value_type = entry.key.type, found
            continue
        if key_type != entry.key.type:
            _mismatch(issues, entry.key, key_type, entry.key.type)
        if value_type != found:
            _mismatch(issues, entry.value, value_type, found)


def _format(node: Call, text: str, values: list[Node], issues: Issues) -> None:
    used = 0
    try:
        for piece in clauses(text, len(values)):
            if isinstance(piece, Clause):
                used += 1
                letter = piece.letter.lower()
                wrong = _unfit(letter, values[piece.place])
                if wrong is not None:
                    message = WRONG_TYPE[letter].format(wrong.type.name)
                    issues.report(wrong.at, f"error during formatting: {message}")
                    return
    except CelError as error:
        issues.report(node.at, str(error))
        return
    if len(values) > used:
        issues.report(node.at, f"too many arguments supplied to string.format (expected {used}, got {len(values)})")


def _unfit(letter: str, node: Node) -> Node | None:
    """The value, or the part of it, that the clause cannot print."""
    if node.type != types.DYN and node.type.kind not in _FITS[letter]:
        return node
    if letter == "s" and isinstance(node, (ListLiteral, MapLiteral)):
        for child in children(node):
            wrong = _unfit(letter, child)
            if wrong is not None:
                return wrong
    return None
