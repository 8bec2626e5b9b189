"""The Go types of the built-in kinds, as schema types.

The table `data/types.txt` has a block for each struct: its name, then one line for each field with the JSON name, the
protobuf number, the type, and markers. A block is read when its struct is first looked into, so starting a server costs
nothing for the kinds that nobody uses. The types are constants: shared by all servers in the process, never changed.

A type is written as in Go, with two additions: `v1.Phase=string` is a named type, and `message[]string` is a list that
protobuf wraps into a message. Structs carry the path of their package (`core/v1.PodSpec`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

import orjson

from nagaya.apiserver.builtins.gotypes import (
    SCALARS,
    SPECIAL,
    GoField,
    GoList,
    GoMap,
    GoScalar,
    GoStruct,
    go_name,
)
from nagaya.apiserver.meta.gvk import GroupVersionKind
from nagaya.apiserver.schema.types import MISSING, Field, ListKind, Omit, Type

DATA: Final = Path(__file__).parent / "data"


@cache
def _blocks() -> Mapping[str, str]:
    blocks = (block.partition("\n") for block in (DATA / "types.txt").read_text().split("\n\n"))
    return {header.removesuffix(" atomic"): f"{header}\n{fields}" for header, _, fields in blocks}


@cache
def kinds() -> Mapping[GroupVersionKind, str]:
    """The struct of every built-in kind, by its key. Kinds that exist in all groups stand under the group `*`."""
    pairs = (line.split(" ") for line in (DATA / "kinds.txt").read_text().splitlines())
    return {GroupVersionKind(*kind.split("/")): struct for kind, struct in pairs}


def is_known_kind(kind: GroupVersionKind) -> bool:
    """Whether a kind is built in."""
    return kind in kinds() or GroupVersionKind("*", "*", kind.kind) in kinds()


def struct_of(what: GroupVersionKind | str) -> GoStruct:
    """The struct of a kind, or the one with a key such as `core/v1.PodSpec`. Raises KeyError if there is none."""
    if isinstance(what, str):
        return _struct(what)
    key = kinds().get(what)
    return _struct(key if key is not None else kinds()[GroupVersionKind("*", "*", what.kind)])


@cache
def _struct(key: str) -> GoStruct:
    header, _, fields = _blocks()[key].partition("\n")
    return GoStruct(lambda: _fields(fields), key=key, atomic=header.endswith(" atomic"))


def _fields(lines: str) -> Mapping[str, Field]:
    return dict(_field(line) for line in lines.splitlines())


def _field(line: str) -> tuple[str, GoField]:
    name, numbers, notation, *markers = line.split(" ")
    marked = dict(marker.partition("=")[::2] for marker in markers if not marker.startswith("default="))
    *via_numbers, number = map(int, numbers.split(".")) if numbers != "-" else (0,)
    _, separator, default = line.partition(" default=")
    return name, GoField(
        type=_type(notation.removeprefix("*"), marked),
        required="required" in marked,
        default=orjson.loads(default) if separator else MISSING,
        patch_strategy=frozenset(marked["patch"].split(",")) if "patch" in marked else frozenset(),
        merge_key=marked.get("mergekey", ""),
        number=number,
        omit=Omit.NEVER if "always" in marked else Omit.ZERO if "omitzero" in marked else Omit.EMPTY,
        pointer=notation.startswith("*"),
        via=tuple(marked["via"].split(".")) if "via" in marked else (),
        via_numbers=tuple(via_numbers),
    )


def _type(notation: str, marked: Mapping[str, str], name: str = "") -> Type:
    """Read a type. The markers belong to the field's own list or map, not to what is inside."""
    if notation.startswith("map["):
        key, _, element_notation = notation[4:].partition("]")
        element = _type(element_notation, {})
        return GoMap(element, go=name or f"map[{key}]{go_name(element)}", atomic="atomic" in marked)
    if notation.startswith(("[]", "message[]")):
        element = _type(notation.partition("[]")[2], {})
        keys = tuple(marked["list"].split(",")) if marked.get("list") else ()
        kind = ListKind.ATOMIC if "list" not in marked else ListKind.MAP if keys else ListKind.SET
        message = notation.startswith("message")
        return GoList(element, kind, keys, go=name or f"[]{go_name(element)}", message=message)
    if "=" in notation:
        go, _, underlying = notation.partition("=")
        return _type(underlying, marked, go)
    if notation in SCALARS:
        scalar = SCALARS[notation]
        return GoScalar(scalar.name, scalar.format, go=name) if name else scalar
    if notation in SPECIAL:
        return SPECIAL[notation]
    struct = _struct(notation)
    # A field may take apart a struct that is otherwise owned as a whole.
    return GoStruct(lambda: struct.fields, key=notation) if "granular" in marked else struct
