"""Compares our CRDs with somebody else's, by what they allow and show: descriptions and messages are left out.

    python tools/crd-shape/compare.py FOLDER...

Each FOLDER holds CustomResourceDefinitions as YAML, such as config/crd/bases of a Cluster API release. Kinds that only
one side has are named, too. The exit status is 1 if there is any difference that is not listed as meant.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from nagaya.api.catalog import PARTS
from nagaya.api.crd import render

WORDS_OF_OUR_OWN: Final = {"description", "message", "messageExpression"}

MEANT: Final[Mapping[str, str]] = {}
"""Differences that are meant, as they are printed, and why."""


def main(folders: list[str]) -> int:
    """Print all differences."""
    theirs = {crd["metadata"]["name"]: crd for folder in folders for crd in _documents(Path(folder))}
    ours = {crd["metadata"]["name"]: crd for part in PARTS.values() for crd in map(render, part)}
    failures = 0
    for name in sorted(theirs.keys() | ours.keys()):
        for difference in _compare(name, ours.get(name), theirs.get(name)):
            reason = MEANT.get(difference)
            failures += reason is None
            print(difference, f"(meant: {reason})" if reason else "")
    print(f"{len(theirs.keys() & ours.keys())} kinds compared, {failures} differences")
    return min(failures, 1)


def _documents(folder: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(folder.glob("*.yaml")):
        for document in yaml.safe_load_all(file.read_text()):
            if document and document.get("kind") == "CustomResourceDefinition":
                yield document


def _compare(name: str, ours: Any, theirs: Any) -> Iterator[str]:
    if ours is None:
        yield f"{name}: only they have it"
    elif theirs is None:
        yield f"{name}: only we have it"
    else:
        mine = _version(ours, ours["spec"]["versions"][0]["name"])
        other = _version(theirs, mine["name"])
        yield from _differences(f"{name} names", ours["spec"]["names"], theirs["spec"]["names"])
        yield from _differences(f"{name} scope", ours["spec"]["scope"], theirs["spec"]["scope"])
        if other is None:
            yield f"{name}: they have no {mine['name']}"
        else:
            yield from _differences(name, mine, other)


def _version(crd: Mapping[str, Any], version: str) -> Any:
    return next((each for each in crd["spec"]["versions"] if each["name"] == version), None)


def _differences(place: str, ours: Any, theirs: Any) -> Iterator[str]:
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        for key in sorted(ours.keys() | theirs.keys()):
            # A description is text, unless it is the name of a field.
            if key in WORDS_OF_OUR_OWN and not isinstance(ours.get(key, theirs.get(key)), Mapping):
                continue
            if key not in theirs:
                yield f"{place}.{key}: only we have it: {_short(ours[key])}"
            elif key not in ours:
                yield f"{place}.{key}: only they have it: {_short(theirs[key])}"
            elif key == "required" and isinstance(ours[key], list):
                yield from _differences(f"{place}.required", sorted(ours[key]), sorted(theirs[key]))
            else:
                yield from _differences(f"{place}.{key}", ours[key], theirs[key])
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from _differences(f"{place}[{index}]", one, other)
    elif ours != theirs:
        yield f"{place}: ours {_short(ours)}, theirs {_short(theirs)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
