"""Manifests as users have them, and what an API server with our rules says of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from nagaya.api.admission.catalog import ADMISSION
from nagaya.api.catalog import PARTS
from nagaya.api.conversion.proxmox.objects import OLD_API_VERSION, to_new
from nagaya.api.definition import Definition
from support.served_kind import ServedKind

DEFINITIONS: dict[tuple[str, str], Definition] = {
    (each.kind.api_version, each.kind.kind): each for part in PARTS.values() for each in part
}
CAPMOX = sorted((Path(__file__).parent / "capmox").glob("*.yaml"))
EXAMPLES = sorted((Path(__file__).parents[4] / "examples").glob("proxmox-*.yaml"))


def documents(path: Path) -> list[dict[str, Any]]:
    """The objects of a file."""
    return [each for each in yaml.safe_load_all(path.read_text()) if each]


@cache
def served(api_version: str, kind: str) -> ServedKind:
    """A kind as an API server judges it."""
    return ServedKind(DEFINITIONS[api_version, kind])


def problems(content: dict[str, Any]) -> list[str]:
    """What is wrong with a new object, of whichever version, by the schema and by admission."""
    new = to_new(content) if content["apiVersion"] == OLD_API_VERSION else content
    definition = DEFINITIONS.get((new["apiVersion"], new["kind"]))
    if definition is None:
        return []
    kind = served(new["apiVersion"], new["kind"])
    stored = {**kind.stored(new["spec"]), "metadata": new["metadata"]}
    pruned = [] if _same(stored["spec"], new["spec"]) else [f"{new['kind']}: fields that nobody knows"]
    admission = ADMISSION.get(str(definition.kind))
    judged = [] if admission is None else admission.validate(admission.default(stored, None), None)
    return [*pruned, *kind.problems(new["spec"]), *map(str, judged)]


def _same(stored: Any, given: Any) -> bool:
    """Whether everything that was given is there. Defaults may have been added."""
    if isinstance(given, dict):
        return isinstance(stored, dict) and all(
            value is None or (name in stored and _same(stored[name], value)) for name, value in given.items()
        )
    if isinstance(given, list):
        return len(stored) == len(given) and all(_same(one, other) for one, other in zip(stored, given, strict=True))
    return bool(stored == given)
