"""Compares patches, selectors, durations and tables with Kubernetes' own code over random cases.

    python tools/strategic-oracle/compare.py ORACLE [--seed N] [--cases N] [subject ...]

Where Go's answer depends on the order in which it happens to walk a map, a difference can be chance: such cases are
asked several times, and any of the answers will do.
"""

from __future__ import annotations

import argparse
import copy
import random
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

sys.path.insert(0, str(Path(__file__).parent))

from oracle import Oracle
from shapes import Shapes

from nagaya.apiserver.meta import durations
from nagaya.apiserver.patch import json_patch, merge_patch, strategic
from nagaya.apiserver.patch.json_patch import JsonPatchError
from nagaya.apiserver.patch.strategic_error import StrategicPatchError
from nagaya.apiserver.selectors import fields, labels
from nagaya.apiserver.selectors.requirement import SelectorError
from nagaya.apiserver.table.builtin import shape_of
from nagaya.apiserver.table.custom import custom_shape

Case = Callable[[Oracle, random.Random], tuple[Any, Callable[[], Any], Any]]

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
_described: dict[str, Any] = {}


def strategic_case(oracle: Oracle, source: random.Random) -> tuple[Any, Callable[[], Any], Any]:
    group, version, kind = source.choice(_KINDS)
    where = {"group": group, "version": version, "kind": kind}
    described = _described.setdefault(kind, None) or oracle.ask("types", **where)
    _described[kind] = described
    shapes = Shapes(described, source)
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


_LABEL_PARTS = [
    "a",
    "b/c",
    "in",
    "notin",
    " ",
    ",",
    "=",
    "==",
    "!=",
    "!",
    "(",
    ")",
    "<",
    ">",
    "1",
    "x y",
    "é",
    "-",
    "a.b/c_d",
]


def labels_case(oracle: Oracle, source: random.Random) -> tuple[Any, Callable[[], Any], Any]:
    if source.random() < 0.5:
        text = "".join(source.choices(_LABEL_PARTS, k=source.randrange(1, 10)))
    else:
        text = ",".join(
            source.choice(
                [
                    "a=b",
                    "a!=b",
                    "a in (b,c)",
                    "a notin (1, 2)",
                    "!a",
                    "a",
                    "a>1",
                    "a<3",
                    "a==b",
                    "a=",
                    "in in ()",
                    "a in (,)",
                ]
            )
            for _ in range(source.randrange(1, 4))
        )
    having = {
        key: source.choice(["b", "c", "1", "2", "5", ""])
        for key in source.sample(["a", "in", "x"], source.randrange(3))
    }
    try:
        selector = labels.parse(text)
        ours: Any = {"text": str(selector), "matches": selector.matches(having)}
    except SelectorError as error:
        ours = {"error": str(error)}
    return (text, having), lambda: oracle.ask("labels", text=text, labels=having), ours


def fields_case(oracle: Oracle, source: random.Random) -> tuple[Any, Callable[[], Any], Any]:
    text = "".join(
        source.choices(
            ["a", "b.c", "=", "==", "!=", ",", "\\", "\\,", "\\=", "\\\\", " ", "x"], k=source.randrange(1, 8)
        )
    )
    having = {key: source.choice(["a", "x", "", ","]) for key in source.sample(["a", "b.c", ""], source.randrange(3))}
    try:
        selector = fields.parse(text)
        ours: Any = {"text": str(selector), "matches": selector.matches(having)}
    except SelectorError as error:
        ours = {"error": str(error)}
    return (text, having), lambda: oracle.ask("fields", text=text, labels=having), ours


def duration_case(oracle: Oracle, source: random.Random) -> tuple[Any, Callable[[], Any], Any]:
    seconds = round(10 ** source.uniform(-1, 10.5), 1) * source.choice([1, 1, 1, 1, -1])
    nanos = max(min(int(seconds * 10) * 100_000_000, 2**63 - 1), -(2**63))
    return nanos, lambda: oracle.ask("duration", nanos=nanos), {"text": durations.human(nanos / 1e9)}


_PATHS = [
    ".a",
    ".b.c",
    ".a[0]",
    ".a[-1]",
    ".a[1:3]",
    ".a[:2]",
    ".a[::2]",
    ".a[*]",
    ".a[*].b",
    "..a",
    ".*",
    ".a.*",
    ".a[]",
    ".['a']",
    "['a']['b']",
    ".a['b','c']",
    ".a[0,1]",
    ".a[?(@.b==1)].c",
    '.a[?(@.b=="a")].c',
    ".a[?(@.b!='a')].c",
    ".a[?(@.b>1)].b",
    ".a[?(@.b<=2)].b",
    ".a[?(@.b)].c",
    ".a[?(@.b[0])].c",
    ".a[?(@.b==@.c)].b",
    ".a[?(true==@.b)].c",
    ".a[?(@.b == 1.5)].b",
    ".a.b.c",
    ".a\\.b",
    ".",
    ".a[",
    ".a[x]",
    ".a[?(@.b==]",
    ".a[?(@.b=='x)')].c",
    "a",
    ".a b",
    "..",
    "...",
    ".a..b",
    ".a[?(@.b==range)].c",
    ".a}{.b[9]",
    ".a }x",
    "@.a",
    "$.a",
    ".a[-3:]",
    ".a[5:2]",
    ".a[0:0]",
    ".a[?(@..b)].c",
    ".a[1:2:0]",
    ".metadata.name",
    ".a[?(@.b==-1)]",
    ".a[?(@.b=~'x')]",
    ".a[?(@ == 1)]",
    ".a['b.c']",
]


def custom_table_case(oracle: Oracle, source: random.Random) -> tuple[Any, Callable[[], Any], Any]:
    columns = [
        {
            "name": f"C{place}",
            "type": source.choice(["string", "integer", "number", "boolean", "date", "x"]),
            "jsonPath": path,
        }
        for place, path in enumerate(source.choices(_PATHS, k=2))
    ]
    obj = {"apiVersion": "x.io/v1", "kind": "X", "metadata": {"name": "n"}, **_tree(source)}

    def ask() -> Any:
        found = oracle.ask("custom-table", original=obj, columns=columns)
        return {"panic": True} if "panic" in found else {"cells": found["cells"]}

    shape = custom_shape(columns)
    return (columns, obj), ask, {"cells": shape.row(obj, datetime.now(UTC))}


def _tree(source: random.Random, depth: int = 0) -> dict[str, Any]:
    return {key: _branch(source, depth + 1) for key in source.sample(["a", "b", "c", "b.c"], source.randrange(1, 4))}


def _branch(source: random.Random, depth: int) -> Any:
    roll = source.random()
    if depth > 3 or roll < 0.4:
        return source.choice(
            [1, 2, -1, "a", "b", True, False, None, 1.5, 2.0, "", "2020-01-01T00:00:00Z", "null", "x<y", 1e25, {}, []]
        )
    if roll < 0.6:
        return _tree(source, depth)
    return [_branch(source, depth + 1) for _ in range(source.randrange(4))]


_TABLES = """v1 Pod PodTemplate ReplicationController Service Endpoints Node Event Namespace Secret ServiceAccount
v1 PersistentVolume PersistentVolumeClaim ComponentStatus ConfigMap ResourceQuota
apps/v1 ReplicaSet DaemonSet StatefulSet Deployment ControllerRevision
batch/v1 Job CronJob
policy/v1 PodDisruptionBudget
networking.k8s.io/v1 Ingress IngressClass NetworkPolicy ServiceCIDR IPAddress
discovery.k8s.io/v1 EndpointSlice
events.k8s.io/v1 Event
rbac.authorization.k8s.io/v1 RoleBinding ClusterRoleBinding
certificates.k8s.io/v1 CertificateSigningRequest
certificates.k8s.io/v1beta1 ClusterTrustBundle PodCertificateRequest
coordination.k8s.io/v1 Lease
coordination.k8s.io/v1beta1 LeaseCandidate
autoscaling/v2 HorizontalPodAutoscaler
autoscaling/v1 HorizontalPodAutoscaler Scale
storage.k8s.io/v1 StorageClass VolumeAttributesClass VolumeAttachment CSINode CSIDriver
admissionregistration.k8s.io/v1 MutatingWebhookConfiguration ValidatingWebhookConfiguration ValidatingAdmissionPolicy
admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding MutatingAdmissionPolicy MutatingAdmissionPolicyBinding
flowcontrol.apiserver.k8s.io/v1 FlowSchema PriorityLevelConfiguration
scheduling.k8s.io/v1 PriorityClass
scheduling.k8s.io/v1alpha2 Workload PodGroup
node.k8s.io/v1 RuntimeClass
resource.k8s.io/v1 DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice
resource.k8s.io/v1beta2 DeviceTaintRule
resource.k8s.io/v1alpha3 ResourcePoolStatusRequest
internal.apiserver.k8s.io/v1alpha1 StorageVersion
storagemigration.k8s.io/v1beta1 StorageVersionMigration"""
TABLE_KINDS = [
    (*line.split()[0].rpartition("/")[::2], kind) for line in _TABLES.splitlines() for kind in line.split()[1:]
]
_WORDS = {
    "type": [
        "Ready",
        "Initialized",
        "PodScheduled",
        "Complete",
        "Failed",
        "Suspended",
        "FailureTarget",
        "SuccessCriteriaMet",
        "Approved",
        "Denied",
        "Dangling",
        "Healthy",
        "ClusterIP",
        "LoadBalancer",
        "NodePort",
        "ExternalName",
        "Resource",
        "Pods",
        "Object",
        "External",
        "ContainerResource",
        "InternalIP",
        "ExternalIP",
        "Issued",
        "Running",
        "Succeeded",
        "DisruptionTarget",
        "PodGroupScheduled",
        "Opaque",
        "Limited",
        "Exempt",
    ],
    "status": ["True", "False", "Unknown"],
    "phase": ["Pending", "Running", "Succeeded", "Failed", "Active", "Bound"],
    "reason": ["", "Completed", "SchedulingGated", "CrashLoopBackOff", "PodInitializing", "NodeLost", "Error"],
    "restartPolicy": ["Always", "Never"],
    "kind": ["User", "Group", "ServiceAccount", "Deployment"],
    "accessModes": ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"],
    "ip": ["10.0.0.1", "fd00::1", ""],
    "conditionType": ["Ready", "Initialized"],
    "operator": ["In", "Exists", "NotIn", "x"],
    "message": [" text \n", "x"],
    "apiVersion": ["v1", "apps/v1", ""],
    "targetRef": ["x"],
}


def _check_columns(theirs: list[dict[str, Any]], ours: list[dict[str, Any]]) -> None:
    """The descriptions are our own; all else has to be the same."""
    for column in (*theirs, *ours):
        column.pop("description")
    assert theirs == ours, (theirs, ours)


def random_object(
    oracle: Oracle, source: random.Random, what: tuple[str, str, str]
) -> tuple[dict[str, str], dict[str, Any], Callable[[], Any]]:
    """An object of a kind, and a way to ask how it is printed."""
    group, version, kind = what
    where = {"group": group, "version": version, "kind": kind}
    key = f"{group}/{version}/{kind}"
    if key not in _described:
        _described[key] = oracle.ask("types", **where)
        _check_columns(oracle.ask("columns", **where)["columns"], shape_of(group, kind).definitions())
    obj = Shapes(_described[key], source, _WORDS).value()
    # Stored objects never look like this: these members are converted when an object is written.
    obj.pop("stringData", None)
    if (version, kind) == ("v1", "HorizontalPodAutoscaler"):
        obj.setdefault("spec", {}).setdefault("targetCPUUtilizationPercentage", 80)

    def ask() -> Any:
        found = oracle.ask("table", **where, original=obj)
        return {"panic": True} if "panic" in found else found

    return where, obj, ask


def table_case(oracle: Oracle, source: random.Random) -> tuple[Any, Callable[[], Any], Any]:
    group, version, kind = source.choice(TABLE_KINDS)
    where, obj, ask = random_object(oracle, source, (group, version, kind))
    shape = shape_of(group, kind)
    ours: Any = {"cells": shape.row(obj, datetime.now(UTC))}
    assert len(ours["cells"]) == len(shape.columns) or kind == "IPAddress"
    return (where, obj), ask, ours


SUBJECTS: dict[str, Case] = {
    "strategic": strategic_case,
    "json": json_case,
    "merge": merge_case,
    "labels": labels_case,
    "fields": fields_case,
    "duration": duration_case,
    "custom-table": custom_table_case,
    "table": table_case,
}


def _same(theirs: Any, ours: Any) -> bool:
    return theirs == {"panic": True} or orjson.dumps(theirs, option=orjson.OPT_SORT_KEYS) == orjson.dumps(
        ours, option=orjson.OPT_SORT_KEYS
    )


def main() -> int:
    """Ask, compare, and show the first differences of each subject."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("oracle")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--show", type=int, default=3)
    parser.add_argument("subjects", nargs="*")
    options = parser.parse_args()
    oracle = Oracle(options.oracle)
    wrong = 0
    for subject in options.subjects or SUBJECTS:
        source = random.Random(options.seed)
        different = panics = errors = 0
        for _ in range(options.cases):
            case, ask, ours = SUBJECTS[subject](oracle, source)
            theirs = ask()
            panics += "panic" in theirs
            errors += "error" in theirs
            if _same(theirs, ours) or any(_same(ask(), ours) for _ in range(20)):
                continue
            different += 1
            if different <= options.show:
                print(f"{subject}: {orjson.dumps(case).decode()}\n  theirs {theirs}\n  ours   {ours}")
        print(f"{subject}: {options.cases} cases, {errors} refused, {panics} panics, {different} differ")
        wrong += different
    oracle.close()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
