"""Objects to ask the webhooks about: good ones, with one or a few things changed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Final

Object = dict[str, Any]
Question = dict[str, Any]

_REF: Final = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "SimulatedMachine", "name": "m"}
_MACHINE: Final = {"clusterName": "c", "bootstrap": {"dataSecretName": "d"}, "infrastructureRef": _REF}
_TEMPLATE: Final = {"metadata": {"labels": {"a": "b"}}, "spec": _MACHINE}
_SELECTOR: Final = {"matchLabels": {"a": "b"}}
_GROUP: Final = {"clusterName": "c", "selector": _SELECTOR, "template": _TEMPLATE}
_TOPOLOGY: Final = {"classRef": {"name": "k"}, "version": "v1.30.0"}


def _object(kind: str, spec: Object, group: str = "cluster.x-k8s.io") -> Object:
    metadata = {"name": "one", "namespace": "default"}
    return {"apiVersion": f"{group}/v1beta2", "kind": kind, "metadata": metadata, "spec": spec}


MACHINE: Final = _object("Machine", _MACHINE)
MACHINE_SET: Final = _object("MachineSet", _GROUP)
MACHINE_DEPLOYMENT: Final = _object("MachineDeployment", _GROUP)
MACHINE_POOL: Final = _object("MachinePool", {"clusterName": "c", "template": {"spec": _MACHINE}})
HEALTH_CHECK: Final = _object("MachineHealthCheck", {"clusterName": "c", "selector": _SELECTOR})
DRAIN_RULE: Final = _object("MachineDrainRule", {"drain": {"behavior": "Drain"}})
CLUSTER: Final = _object("Cluster", {"infrastructureRef": {**_REF, "kind": "SimulatedCluster"}})
MANAGED: Final = _object("Cluster", {"topology": _TOPOLOGY})
RESOURCE_SET: Final = _object(
    "ClusterResourceSet",
    {"clusterSelector": _SELECTOR, "resources": [{"kind": "Secret", "name": "s"}]},
    "addons.cluster.x-k8s.io",
)

LONG: Final = "x" * 64
MIN: Final = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
MAX: Final = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
SKIP: Final = "machineset.cluster.x-k8s.io/skip-preflight-checks"
CONCURRENCY: Final = "topology.cluster.x-k8s.io/upgrade-concurrency"
VERSIONS: Final = (
    *("1.30.0", "v1.30.0", "v1.30", "vx", "v1.30.0-rc.1+b.2", "v01.2.3", "v1.2.3-01", "v1.2.3-a..b", "1.2", "x"),
    *("v1.2.3+", "v1.2.3-", "v1.2.3.4", "v-1.2.3", " v1.2.3"),
)
TAINTS: Final = (
    *("a/b", "node.cluster.x-k8s.io/uninitialized", "node.cluster.x-k8s.io/outdated-revision", "-bad", "a/b/c"),
    *("node.kubernetes.io/not-ready", "node.kubernetes.io/out-of-service", "node.cloudprovider.kubernetes.io/x"),
    *("node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane", LONG, "/x", "A.b/c", ""),
)
NAMES: Final = (
    *("{{ .machineSet.name }}-{{ .random }}", "{{ .random }}", "x", "{{ .cluster.name }}-{{ .random }}"),
    *("{{ .nope }}-{{ .random }}", "{{ .cluster.nope }}-{{ .random }}", "A{{ .random }}", "é{{ .random }}"),
    *("{{- .machineSet.name -}} - {{ .random }}", f"a-{{{{ .random }}}}-{LONG}", "{{.random}}"),
    *("{{ .cluster.name }}.{{ .random }}", "{{ .random }}\n{{ .cluster.nope }}", "{{ .machinePool.x }}{{ .random }}"),
)
SHARES: Final = (0, 1, "0%", "50%", "x", "5", "%", "x%", "-5%", "1.5%", "+5%", "99999999999999999999%", " 5%")
SELECTORS: Final[tuple[Object, ...]] = (
    {},
    {"matchLabels": {"a": "b"}},
    {"matchLabels": {"a": "c"}},
    {"matchLabels": {"-": "b"}},
    {"matchLabels": {"a": "!"}},
    {"matchLabels": {"a": "b", "c": "d"}},
    {"matchLabels": {"a": LONG}},
    {"matchLabels": {"a<b": "x"}},
    {"matchLabels": {"a": ""}},
    {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b", "a"]}]},
    {"matchExpressions": [{"key": "a", "operator": "In"}]},
    {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["z"]}]},
    {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["z"]}]},
    {"matchExpressions": [{"key": "q", "operator": "DoesNotExist"}]},
    {"matchExpressions": [{"key": "q", "operator": "Exists"}]},
    {"matchExpressions": [{"key": "a", "operator": "Foo"}]},
    {
        "matchExpressions": [{"key": "a b", "operator": "NotIn", "values": ["!", "ok", "x y"]}],
        "matchLabels": {"a": "b"},
    },
    {
        "matchExpressions": [
            {"key": "q", "operator": "NotIn", "values": ["z", "y"]},
            {"key": "a", "operator": "Exists"},
        ],
        "matchLabels": {"b": "c"},
    },
)
METADATA: Final[tuple[Object, ...]] = (
    {"labels": {"a": "b", "-x": "c"}},
    {"labels": {"a": "b", "c": "d e"}},
    {"labels": {"a": "b"}, "annotations": {"A/B": "x"}},
    {"labels": {"a": "b"}, "annotations": {"A_b.c/B": "x y"}},
    {"labels": {"a": "b"}, "annotations": {"a b": "x"}},
)
ANNOTATIONS: Final[tuple[Object, ...]] = (
    {MIN: "2", MAX: "5"},
    {MIN: "2"},
    {MIN: "x", MAX: "5"},
    {MIN: "2", MAX: "99999999999"},
    {MIN: "2", MAX: ""},
    {MIN: "-1", MAX: "3"},
    {MIN: "+4", MAX: "5"},
    {SKIP: "All"},
    {SKIP: "All, Nope,KubeadmVersionSkew ,Bad"},
    {SKIP: ""},
    {SKIP: "<x>"},
)
RANGES: Final = (
    *("10.0.0.0/8", "10.0.0.1/8", "10.0.0.0", "10.0.0.0/33", "fd00::/108", "fd00::/129", "::ffff:1.2.3.4/100"),
    *("010.0.0.0/8", "10.0.0.0/08", "x", "10.0.0/8", "10.0.0.0/255.0.0.0", "fe80::1%eth0/64", "/8", "10.0.0.0/"),
    *("1.2.3.4/0", "::/0", "fd00::/+8"),
)


def changed(original: Object, path: str, value: Any) -> Object:
    """A copy with another value at a path, or with none if it is None."""
    name, _, rest = path.partition(".")
    copy = dict(original)
    if rest:
        copy[name] = changed(copy.get(name) or {}, rest, value)
    elif value is None:
        copy.pop(name, None)
    else:
        copy[name] = value
    return copy


def with_all(original: Object, changes: Object) -> Object:
    """A copy with several changes."""
    for path, value in changes.items():
        original = changed(original, path, value)
    return original


def _ask(resource: str, original: Object, changes: Object | None = None, old: Object | None = None) -> Question:
    return {"resource": resource, "new": with_all(original, changes or {}), "old": old}


def questions() -> Iterator[Question]:
    """All questions, those that take long last."""
    yield from _about_machines()
    for resource, base in (
        ("machinesets", MACHINE_SET),
        ("machinedeployments", MACHINE_DEPLOYMENT),
        ("machinepools", MACHINE_POOL),
    ):
        yield from _about_groups(resource, base)
    for resource, base in (("machinesets", MACHINE_SET), ("machinedeployments", MACHINE_DEPLOYMENT)):
        yield from _about_selected_groups(resource, base)
    yield from _about_rollouts()
    yield from _about_selectors()
    yield from _about_others()
    yield from _about_clusters()
    yield from _about_topologies()


def _taints(key: str) -> list[Object]:
    return [
        {"key": key, "effect": "NoSchedule", "propagation": "Always"},
        {"key": "z", "effect": "NoExecute", "propagation": "Always"},
    ]


def _about_machines() -> Iterator[Question]:
    for version in VERSIONS:
        yield _ask("machines", MACHINE, {"spec.version": version})
    for key in TAINTS:
        yield _ask("machines", MACHINE, {"spec.taints": _taints(key)})
        labels = {"cluster.x-k8s.io/control-plane": ""}
        yield _ask("machines", MACHINE, {"spec.taints": _taints(key), "metadata.labels": labels})
    yield _ask("machines", MACHINE, {"spec.bootstrap": {}})
    yield _ask("machines", MACHINE, {"spec.bootstrap": {"configRef": _REF}})
    pool_label = {"cluster.x-k8s.io/pool-name": "p"}
    yield _ask("machines", MACHINE, {"spec.bootstrap": {}, "metadata.labels": pool_label})
    for kind in ("MachinePool", "Other"):
        owner = {"apiVersion": "x/v1", "kind": kind, "name": "p", "uid": "u"}
        yield _ask("machines", MACHINE, {"spec.bootstrap": {}, "metadata.ownerReferences": [owner]})
    wrong = {"spec.clusterName": "d", "spec.version": "x", "spec.bootstrap": {}}
    yield _ask("machines", MACHINE, wrong, MACHINE)
    labels = {"x": "y", "cluster.x-k8s.io/cluster-name": "other"}
    yield _ask("machines", MACHINE, {"spec.deletion": {"nodeDeletionTimeoutSeconds": 0}, "metadata.labels": labels})
    yield _ask("machines", MACHINE, {"spec.deletion": {"nodeDrainTimeoutSeconds": 5}})


def _about_groups(resource: str, base: Object) -> Iterator[Question]:
    for version in VERSIONS:
        yield _ask(resource, base, {"spec.template.spec.version": version})
    for key in TAINTS:
        yield _ask(resource, base, {"spec.template.spec.taints": _taints(key)})
    for metadata in METADATA:
        yield _ask(resource, base, {"spec.template.metadata": metadata})
    for given in ANNOTATIONS:
        yield _ask(resource, base, {"metadata.annotations": given})
        for replicas in (1, 3, 9, None):
            old = changed(base, "spec.replicas", replicas)
            yield _ask(resource, base, {"metadata.annotations": given}, old)
        yield _ask(resource, base, {"metadata.annotations": given, "spec.replicas": 7})
    yield _ask(resource, base, {"spec.replicas": 0})
    yield _ask(resource, base, {"spec.template.spec.bootstrap": {}})
    yield _ask(resource, base, {"spec.template.spec.clusterName": "other"})
    yield _ask(resource, base, {"spec.clusterName": "d"}, base)
    wrong = {"spec.clusterName": "d", "spec.template.spec.version": "x", "spec.template.spec.bootstrap": {}}
    yield _ask(resource, base, {**wrong, "spec.template.metadata": {"labels": {"é": "ü"}}}, base)
    for name in (LONG, "a.b"):
        yield _ask(resource, base, {"metadata.name": name})


def _about_selected_groups(resource: str, base: Object) -> Iterator[Question]:
    for selector in SELECTORS:
        yield _ask(resource, base, {"spec.selector": selector})
        yield _ask(resource, base, {"spec.selector": selector, "spec.template.metadata": None})
    for name in (LONG, f"a.{LONG}"):
        yield _ask(resource, base, {"spec.selector": {}, "metadata.name": name})
    for template in NAMES:
        yield _ask(resource, base, {"spec.machineNaming": {"template": template}})


def _strategy(**rolling_update: Any) -> Object:
    given = {name: value for name, value in rolling_update.items() if value is not None}
    return {"strategy": {"type": "RollingUpdate", "rollingUpdate": given}}


def _about_rollouts() -> Iterator[Question]:
    resource = "machinedeployments"
    for surge, unavailable in itertools.product(SHARES, (None, 0, 1, "0%")):
        rollout = _strategy(maxSurge=surge, maxUnavailable=unavailable)
        yield _ask(resource, MACHINE_DEPLOYMENT, {"spec.rollout": rollout})
    for share in SHARES:
        changes = {"spec.rollout": _strategy(maxUnavailable=share), "spec.remediation": {"maxInFlight": share}}
        yield _ask(resource, MACHINE_DEPLOYMENT, changes)
    yield _ask(resource, MACHINE_DEPLOYMENT, {"spec.rollout": {"strategy": {"type": "OnDelete"}}})
    yield _ask(resource, MACHINE_DEPLOYMENT, {"spec.rollout": {"after": "2030-01-01T00:00:00Z"}})


def _about_selectors() -> Iterator[Question]:
    for selector in SELECTORS:
        yield _ask("machinehealthchecks", HEALTH_CHECK, {"spec.selector": selector})
        yield _ask("clusterresourcesets", RESOURCE_SET, {"spec.clusterSelector": selector})
        yield _ask("clusterresourcesets", RESOURCE_SET, {"spec.clusterSelector": selector}, RESOURCE_SET)
        for field, other in (("machines", "clusterSelector"), ("pods", "namespaceSelector")):
            for name in ("selector", other):
                entries = [{"selector": {"matchLabels": {"k": "v"}}}, {name: selector}]
                yield _ask("machinedrainrules", DRAIN_RULE, {f"spec.{field}": entries})


def _about_others() -> Iterator[Question]:
    for share in SHARES:
        trigger = {"triggerIf": {"unhealthyLessThanOrEqualTo": share}}
        yield _ask("machinehealthchecks", HEALTH_CHECK, {"spec.remediation": trigger})
    for seconds in (0, 1, 29, 30, 600):
        checks = {"nodeStartupTimeoutSeconds": seconds}
        yield _ask("machinehealthchecks", HEALTH_CHECK, {"spec.checks": checks})
    for cluster in ("c", "zz"):
        selector = {"matchLabels": {"cluster.x-k8s.io/cluster-name": cluster}}
        yield _ask("machinehealthchecks", HEALTH_CHECK, {"spec.selector": selector})
    yield _ask("machinehealthchecks", HEALTH_CHECK, {"spec.clusterName": "zz"}, HEALTH_CHECK)
    for behavior, order in itertools.product(("Drain", "Skip", "WaitCompleted"), (None, 0, -5)):
        drain = changed({"behavior": behavior}, "order", order)
        yield _ask("machinedrainrules", DRAIN_RULE, {"spec.drain": drain})
    for strategy in ("ApplyOnce", "Reconcile"):
        yield _ask("clusterresourcesets", RESOURCE_SET, {"spec.strategy": strategy})
        old = changed(RESOURCE_SET, "spec.strategy", strategy)
        yield _ask("clusterresourcesets", RESOURCE_SET, {"spec.strategy": "Reconcile"}, old)


def _about_clusters() -> Iterator[Question]:
    for name in ("one", LONG, "a.b", "a..b"):
        yield _ask("clusters", CLUSTER, {"metadata.name": name})
    for block in RANGES:
        network = {"pods": {"cidrBlocks": ["10.0.0.0/8", block]}, "services": {"cidrBlocks": [block]}}
        yield _ask("clusters", CLUSTER, {"spec.clusterNetwork": network})
    nothing = {"spec.infrastructureRef": None, "spec.paused": True}
    yield _ask("clusters", CLUSTER, nothing)
    yield _ask("clusters", CLUSTER, nothing, CLUSTER)
    yield _ask("clusters", CLUSTER, {"spec.infrastructureRef": None, "spec.controlPlaneRef": _REF}, CLUSTER)
    yield _ask("clusters", CLUSTER, None, changed(CLUSTER, "spec.controlPlaneRef", _REF))
    yield _ask("clusters", CLUSTER, None, changed(CLUSTER, "spec.topology", _TOPOLOGY))


def _about_topologies() -> Iterator[Question]:
    for version in VERSIONS[:5]:
        yield _ask("clusters", MANAGED, {"spec.topology.version": version})
    for key in TAINTS[:4]:
        yield _ask("clusters", MANAGED, {"spec.topology.controlPlane.taints": _taints(key)})
    for concurrency in ("1", "0", "x", ""):
        yield _ask("clusters", MANAGED, {"metadata.annotations": {CONCURRENCY: concurrency}})
    for metadata in METADATA[:2]:
        worker = {"class": "w", "name": "md", "metadata": metadata}
        workers = {"machineDeployments": [worker], "machinePools": [{**worker, "name": "mp"}]}
        changes = {"spec.topology.workers": workers, "spec.topology.controlPlane.metadata": metadata}
        yield _ask("clusters", MANAGED, changes)
    for replicas, annotation in ((None, MIN), (0, MAX), (3, MIN)):
        worker = changed(
            {"class": "w", "name": "md", "metadata": {"annotations": {annotation: "1"}}}, "replicas", replicas
        )
        yield _ask("clusters", MANAGED, {"spec.topology.workers": {"machineDeployments": [worker]}})
    worker = {"class": "w", "name": "md", "rollout": _strategy(maxSurge=0, maxUnavailable=0)}
    yield _ask("clusters", MANAGED, {"spec.topology.workers": {"machineDeployments": [worker]}})
