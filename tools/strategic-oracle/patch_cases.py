"""Random patches and what they are applied to: strategic merge patches, JSON patches, merge patches."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

from oracle import Oracle
from shapes import Shapes

from nagaya.apiserver.patch import json_patch, merge_patch, strategic
from nagaya.apiserver.patch.json_patch import JsonPatchError
from nagaya.apiserver.patch.strategic_error import StrategicPatchError

_KINDS = [
    ("", "v1", "Pod"),
    ("apps", "v1", "Deployment"),
    ("", "v1", "Service"),
    ("", "v1", "Node"),
    ("", "v1", "ServiceAccount"),
    ("apps", "v1", "StatefulSet"),
    ("apps", "v1", "ControllerRevision"),
    ("batch", "v1", "CronJob"),
    ("networking.k8s.io", "v1", "NetworkPolicy"),
]


def strategic_case(oracle: Oracle, source: random.Random) -> tuple[Any, Callable[[], Any], Any]:
    group, version, kind = source.choice(_KINDS)
    where = {"group": group, "version": version, "kind": kind}
    shapes = Shapes(oracle.ask_once("types", **where), source)
    original, patch = shapes.value(), shapes.patch()

    def ask() -> Any:
        answer = oracle.ask("strategic", **where, original=original, patch=patch)
        return {"panic": True} if "panic" in answer else {k: answer[k] for k in ("value", "error") if k in answer}

    before = oracle.ask("strategic", **where, original=original, patch=patch).get("before")
    if before is None:
        return (where, original, patch), ask, {"panic": True}
    kept = copy.deepcopy((before, patch))
    try:
        ours: Any = {"value": strategic.apply(before, patch, shapes.struct())}
    except StrategicPatchError as error:
        ours = {"error": error.message}
    assert (before, patch) == kept, "the inputs were changed"
    return (where, before, patch), ask, ours


def _json(source: random.Random, depth: int = 0) -> Any:
    roll = source.random()
    if depth > 3 or roll < 0.5:
        return source.choice([1, 2, "a", "b", True, None, 1.5, "", False])
    if roll < 0.8:
        return {
            key: _json(source, depth + 1) for key in source.sample(["a", "b", "c", "d/e", "f~g"], source.randrange(4))
        }
    return [_json(source, depth + 1) for _ in range(source.randrange(4))]


def _object(source: random.Random) -> dict[str, Any]:
    return {key: _json(source, 1) for key in source.sample(["a", "b", "c", "d/e"], source.randrange(1, 4))}


def _has_null_item(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_null_item, value.values()))
    return isinstance(value, list) and (None in value or any(map(_has_null_item, value)))


def json_case(oracle: Oracle, source: random.Random) -> tuple[Any, Callable[[], Any], Any]:
    document = _object(source)
    patch = [_operation(source, document) for _ in range(source.randrange(1, 5))]

    def ask() -> Any:
        answer = oracle.ask("json", original=document, patch=patch)
        return {"panic": True} if "panic" in answer else answer

    kept = copy.deepcopy((document, patch))
    try:
        ours: Any = {"value": json_patch.apply(document, patch)}
    except JsonPatchError as error:
        ours = {"error": str(error)}
    assert (document, patch) == kept, "the inputs were changed"
    return (document, patch), ask, ours


def _paths(value: Any, here: str = "") -> list[str]:
    found = [here]
    if isinstance(value, dict):
        for key, member in value.items():
            found += _paths(member, f"{here}/{key.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list):
        for position, item in enumerate(value):
            found += _paths(item, f"{here}/{position}")
    return found


def _operation(source: random.Random, document: Any) -> dict[str, Any]:
    paths = _paths(document)

    def path() -> str:
        chosen = source.choice(paths)
        roll = source.random()
        if roll < 0.3:
            chosen += source.choice(["/a", "/-", "/0", "/-1", "/9", "/x/y", "/+1", "/01", "/-9"])
        return chosen if roll < 0.98 else source.choice(["a", "a/b", "", "/", "//"])

    made: dict[str, Any] = {
        "op": source.choice(["add", "remove", "replace", "move", "copy", "test", "test"]),
        "path": path(),
    }
    if made["op"] in ("move", "copy"):
        made["from"] = path()
    if made["op"] in ("add", "replace", "test") and source.random() < 0.95:
        made["value"] = _json(source)
        if made["op"] == "test" and source.random() < 0.6:
            made["value"] = _at(document, made["path"])
    if source.random() < 0.02:
        made[source.choice(["op", "path", "from"])] = source.choice([None, 1, "nonsense"])
    return made


def _at(document: Any, path: str) -> Any:
    for segment in path.split("/")[1:]:
        try:
            key = segment.replace("~1", "/").replace("~0", "~")
            document = document[key] if isinstance(document, dict) else document[int(key)]
        except (KeyError, ValueError, IndexError, TypeError):
            return None
    return document


def merge_case(oracle: Oracle, source: random.Random) -> tuple[Any, Callable[[], Any], Any]:
    document, patch = _object(source), _object(source)
    return (
        (document, patch),
        lambda: oracle.ask("merge", original=document, patch=patch),
        {"value": merge_patch.apply(document, patch)},
    )
