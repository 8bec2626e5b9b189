"""Runs random sequences of writes through our field manager and through Kubernetes' own, and compares every answer.

    go build -o smd-oracle . && python compare.py [SEEDS] [FIRST]

Each seed makes a schema and a dozen updates and applies by a few managers. The first difference is printed with all
that is needed to repeat it, and ends the run.
"""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import sys
from typing import Any

from oracle import Oracle
from samples import Json, Samples

from nagaya.apiserver.apply.manager import FieldManager
from nagaya.apiserver.meta.gvk import GroupVersionKind
from nagaya.apiserver.meta.status import ApiError
from nagaya.apiserver.schema.openapi_types import types_from_openapi

KIND = GroupVersionKind("x.io", "v1", "W")


def sequence(seed: int, oracle: Oracle) -> Json | None:
    """Replay one seed. Returns the step that went wrong, if any."""
    samples = Samples(seed)
    names = "pqrstu"[: samples.random.randrange(2, 7)]
    spec: Json = {"type": "object", "properties": {name: samples.schema() for name in names}}
    schemas = [spec] if samples.maybe(0.6) else [spec, samples.other_merging(spec)]
    duplicates = samples.maybe(0.3)
    live: Json | None = None
    for step in range(samples.random.randrange(4, 14)):
        current = samples.random.choice(schemas)
        schema = {"type": "object", "properties": {"spec": current}}
        oracle.teach(KIND.group, KIND.kind, {KIND.version: schema})
        request = {
            "op": samples.random.choice(["apply", "update"]),
            "apiVersion": KIND.api_version,
            "kind": KIND.kind,
            "live": live,
            "manager": samples.random.choice(["a", "b", "c"]),
            "force": samples.maybe(0.4),
            "now": f"2001-01-01T00:00:{step:02d}Z",
        }
        request["object"] = _object(samples, current, live, request["op"], duplicates)
        wanted = oracle.ask(**request)
        got = asyncio.run(_ours(schema, copy.deepcopy(request)))
        if not _agree(wanted, got):
            return {"seed": seed, "step": step, "schema": schema, "request": request, "wanted": wanted, "got": got}
        if "object" in wanted:
            live = wanted["object"]
            live["metadata"]["uid"] = "u"
    return None


def _object(samples: Samples, spec: Json, live: Json | None, operation: str, duplicates: bool) -> Json:
    value = samples.value(spec, duplicates=duplicates and operation == "update")
    made: Json = {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": samples.metadata(), "spec": value}
    if live is None or samples.maybe(0.3):
        return made
    changed = copy.deepcopy(live)
    if operation == "apply":
        changed["metadata"] = {
            key: each for key, each in changed["metadata"].items() if key not in ("managedFields", "uid")
        }
    for name in made["spec"] or {}:
        if isinstance(changed["spec"], dict) and samples.maybe(0.4):
            changed["spec"][name] = made["spec"][name]
    for name in list(changed["spec"] or {}):
        if samples.maybe(0.2):
            del changed["spec"][name]
    return changed


async def _ours(schema: Json, request: Json) -> Json:
    manager = FieldManager(KIND, {KIND.api_version: types_from_openapi(schema)})
    common = {"manager": request["manager"], "now": request["now"]}
    try:
        if request["op"] == "update":
            return {"object": await manager.update(request["live"], request["object"], **common)}
        applied = await manager.apply(request["live"], request["object"], force=request["force"], **common)
    except ApiError as error:
        return {"error": error.message}
    return {"object": request["live"] if applied is None else applied}


def _agree(wanted: Json, got: Json) -> bool:
    if "error" in wanted or "error" in got:
        # With several findings their order is the order of a Go map.
        return sorted(wanted.get("error", "").split("\n")) == sorted(got.get("error", "").split("\n"))
    return _same(wanted["object"], got["object"])


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return left == right and isinstance(left, bool) == isinstance(right, bool)


def main() -> int:
    """Compare as many seeds as asked for."""
    logging.disable()  # dropped records are part of the game here
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    with Oracle() as oracle:
        for seed in range(first, first + count):
            difference = sequence(seed, oracle)
            if difference is not None:
                print(json.dumps(difference, indent=1))
                return 1
    print(f"{count} sequences, no difference")
    return 0


if __name__ == "__main__":
    sys.exit(main())
