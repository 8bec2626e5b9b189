"""Pods and what makes them: the same objects as a real kube-apiserver v1.36.3 was given, and the same answers."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, cast

from nagaya.apiserver.builtins import decode, facts
from nagaya.apiserver.builtins.kinds.registry import kind_of
from nagaya.apiserver.builtins.resources import BuiltinResource, by_gvr
from nagaya.apiserver.builtins.stored import as_stored
from nagaya.apiserver.meta import object_meta
from nagaya.apiserver.meta.field_errors import FieldError
from nagaya.apiserver.meta.gvk import GroupVersionResource
from nagaya.apiserver.meta.names import path_segment
from nagaya.apiserver.registry.strategy import Strategy
from support.subtest_cases import subtest_cases

# What the real server's admission adds to a pod, which is no business of the kind.
ADMITTED = ("tolerations", "priority", "preemptionPolicy", "serviceAccountName", "serviceAccount")
GIVEN = ("uid", "creationTimestamp", "resourceVersion", "namespace", "managedFields")


class _Call:
    """As much of a request as these strategies ask about."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.backend = self

    def now(self) -> str:
        return "2026-11-16T00:00:00Z"

    def warn(self, message: str) -> None:
        self.warnings.append(message)


def _lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (Path(__file__).parent / f"recorded_{name}.jsonl").read_text().splitlines()]


def _resource(kind: str) -> BuiltinResource:
    return by_gvr()[GroupVersionResource(*kind.split("/"))]


def _causes(errors: Iterable[FieldError]) -> list[list[str]]:
    return sorted([str(error.cause), error.field, error.body] for error in errors)


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_empty(each) for key, each in value.items() if each is not None and each != []}
    return [_without_empty(each) for each in value] if isinstance(value, list) else value


def _shown(found: BuiltinResource, obj: dict[str, Any]) -> Any:
    made = {**as_stored(facts.struct_of(found.gvk), obj)}
    made["metadata"] = {key: value for key, value in made["metadata"].items() if key not in GIVEN}
    return _without_empty({key: value for key, value in made.items() if key not in ("kind", "apiVersion")})


def _read(found: BuiltinResource, obj: dict[str, Any], strategy: Strategy) -> dict[str, Any]:
    made, _ = decode.normalise(facts.struct_of(found.gvk), copy.deepcopy(obj))
    strategy.default(made)
    return made


def _admit(pod: dict[str, Any]) -> None:
    spec = pod["spec"]
    spec["serviceAccountName"] = spec.get("serviceAccountName") or "default"


@subtest_cases("case", partial(_lines, "workloads"), ids=itemgetter("name"))
def test_a_new_object_is_judged_as_by_the_real_server(case: dict[str, Any]) -> None:
    found = _resource(case["kind"])
    strategy = kind_of(found.gvr.group_resource).main
    obj = _read(found, case["object"], strategy)
    obj["metadata"] |= {"namespace": "town", "uid": "UID", "creationTimestamp": "2026-11-16T00:00:00Z"}
    if found.resource == "pods":
        _admit(obj)
    call = _Call()
    strategy.prepare_create(obj, cast(Any, call))
    errors = object_meta.validate(
        obj["metadata"],
        namespaced=True,
        name_check=strategy.name_check,
        generate_name_checked=strategy.generate_name_checked,
    )
    errors += object_meta.validate_known_finalizers(obj["metadata"]) if strategy.finalizers_checked else []
    errors += strategy.validate_create(obj, cast(Any, call), errors)
    assert _causes(errors) == case.get("errors", [])
    if errors:
        return
    call.warnings += strategy.warn_create(obj, cast(Any, call))
    assert sorted(set(call.warnings)) == case.get("warnings", [])
    shown = _shown(found, obj)
    if found.resource == "pods":
        shown["spec"] = {key: value for key, value in shown["spec"].items() if key not in ADMITTED}
    assert shown == case["accepted"]


def _changes() -> Iterator[dict[str, Any]]:
    base: dict[str, Any] = {}
    for line in _lines("workload_changes"):
        if "object" in line:
            base = line
        else:
            yield {**base, **line}


def _changed(obj: dict[str, Any], changes: list[Any]) -> dict[str, Any]:
    result = copy.deepcopy(obj)
    for path, *value in changes:
        place = result
        for key in path[:-1]:
            place = place[key]
        if value:
            place[path[-1]] = copy.deepcopy(value[0])
        else:
            del place[path[-1]]
    return result


@subtest_cases("case", _changes, ids=itemgetter("name"))
def test_a_change_is_judged_as_by_the_real_server(case: dict[str, Any]) -> None:
    found = _resource(case["kind"])
    kind = kind_of(found.gvr.group_resource)
    strategy = kind.subresources[case["subresource"]] if "subresource" in case else kind.main
    old = case["object"]
    before = json.dumps(old, sort_keys=True)
    new = _read(found, _changed(old, case["change"]), kind.main)
    new["metadata"]["generation"] = old["metadata"]["generation"]
    call = _Call()
    strategy.prepare_update(new, old, cast(Any, call))
    metadata = new["metadata"]
    errors = object_meta.validate(metadata, namespaced=True, name_check=path_segment)
    errors += object_meta.validate_update(metadata, old["metadata"])
    errors += object_meta.validate_known_finalizers(metadata) if strategy.finalizers_checked else []
    errors += strategy.validate_update(new, old, cast(Any, call), errors)
    assert json.dumps(old, sort_keys=True) == before
    assert _causes(errors) == case.get("errors", [])
    if errors:
        return
    call.warnings += strategy.warn_update(new, old, cast(Any, call))
    assert sorted(set(call.warnings)) == case.get("warnings", [])
    assert _shown(found, new) == _changed(_shown(found, old), case["accepted"])
