"""L17: admission webhooks that run as pods must not decide about what makes pods possible."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.cloud.lint.check import Check, finding
from nagaya.cloud.lint.finding import Finding, Severity
from nagaya.cloud.lint.manifest import Manifest
from nagaya.cloud.lint.manifests import Manifests
from nagaya.cloud.lint.plain import Object, at, labels, mapping, mappings, text, texts
from nagaya.cloud.lint.selection import selects
from nagaya.cloud.lint.workload import Workload

_ID: Final = "L17"
NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
_EVENTS: Final = "events"
_VITAL: Final = (
    # group, resource, where its objects are, what stops without it
    ("", "nodes", "", "no node can register or be initialised"),
    ("", "nodes/status", "", "no node can get ready"),
    ("certificates.k8s.io", "certificatesigningrequests", "", "no kubelet gets a certificate"),
    ("coordination.k8s.io", "leases", "kube-system", "nobody can become leader"),
    ("coordination.k8s.io", "leases", "kube-node-lease", "no node can say that it is alive"),
    ("", "pods", "kube-system", "no pod of the cluster's own can be made"),
    ("", _EVENTS, "kube-system", "nobody hears why something does not start"),
)
_WRITTEN: Final = ("CREATE", "UPDATE", "*")
_CREATED: Final = ("CREATE", "*")
_ONLY_CREATED: Final = ("pods", "certificatesigningrequests")
"""Once they are there, what matters of them is written to their parts: status, binding, approval."""


def _run(manifests: Manifests) -> Iterator[Finding]:
    for configuration in manifests.of("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
        for index, webhook in enumerate(mappings(configuration.raw.get("webhooks"))):
            if at(webhook, "clientConfig", "service") is None or webhook.get("failurePolicy") == "Ignore":
                continue
            yield from _webhook(manifests, configuration, index, webhook)


def _webhook(manifests: Manifests, configuration: Manifest, index: int, webhook: Object) -> Iterator[Finding]:
    backend = _backend(manifests, webhook)
    if backend is not None and backend.host_network and manifests.obstacle(backend) is None:
        return  # it starts on bare nodes, as what it decides about
    unsure = bool(webhook.get("matchConditions")) or bool(mapping(webhook.get("objectSelector")))
    vital = [each for each in _VITAL if _matches(manifests, webhook, *each[:3])]
    cloud = {each.namespace for each in manifests.inside}
    vital += [
        ("", "pods", namespace, "no pod of the cloud controller manager can be made")
        for namespace in sorted(cloud - {"kube-system"})
        if _matches(manifests, webhook, "", "pods", namespace)
    ]
    if not vital:
        return
    what = ", ".join(dict.fromkeys(f"{each[1]} in {each[2]}" if each[2] else each[1] for each in vital))
    scoped = any(each[2] for each in vital)
    whole = any(not each[2] for each in vital)
    yield finding(
        _ID,
        Severity.WARNING if unsure or all(each[1] == _EVENTS for each in vital) else Severity.ERROR,
        configuration,
        f"webhooks[{index}]",
        f"{text(webhook.get('name'))}: failurePolicy Fail for {what}",
        f"Its backend runs as pods, and while they do not run, {vital[0][3]}. In a new cluster they cannot run before "
        "that." + (" Its conditions may leave out what matters; they were not judged." if unsure else ""),
        "\n".join(
            [*([_EXCLUDE] if scoped else []), *(["failurePolicy: Ignore  # or take out the rule"] if whole else [])]
        ),
    )


def _matches(manifests: Manifests, webhook: Object, group: str, resource: str, namespace: str) -> bool:
    if namespace and not selects(webhook.get("namespaceSelector"), _labels(manifests, namespace)):
        return False
    return any(_rule(each, group, resource, namespace) for each in mappings(webhook.get("rules")))


def _rule(rule: Object, group: str, resource: str, namespace: str) -> bool:
    scope = text(rule.get("scope")) or "*"
    if scope != "*" and (scope == "Namespaced") != bool(namespace):
        return False
    groups, resources = texts(rule.get("apiGroups")), texts(rule.get("resources"))
    base, slash, sub = resource.partition("/")
    names = {resource, "*/*"} | ({f"{base}/*", f"*/{sub}"} if slash else {"*"})
    decisive = _CREATED if base in _ONLY_CREATED else _WRITTEN
    writes = any(each in decisive for each in texts(rule.get("operations")))
    return writes and (group in groups or "*" in groups) and bool(names & set(resources))


def _labels(manifests: Manifests, namespace: str) -> dict[str, str]:
    found = manifests.find("Namespace", "", namespace)
    return {**(found.labels if found else {}), NAMESPACE_NAME: namespace}


def _backend(manifests: Manifests, webhook: Object) -> Workload | None:
    """The workload behind a webhook's Service, if both are in the set."""
    namespace = text(at(webhook, "clientConfig", "service", "namespace"))
    service = manifests.find("Service", namespace, text(at(webhook, "clientConfig", "service", "name")))
    selector = {} if service is None else labels(service.spec.get("selector"))
    if not selector:
        return None
    for each in manifests.workloads:
        if each.namespace == namespace and selector.items() <= each.pod_labels.items():
            return each
    return None


_EXCLUDE: Final = """namespaceSelector:
  matchExpressions:
  - key: kubernetes.io/metadata.name
    operator: NotIn
    values: [kube-system, kube-node-lease]"""

CHECK: Final = Check(
    _ID,
    "an admission webhook that runs as pods can stop nodes and system pods from being made",
    Severity.ERROR,
    """A webhook with failurePolicy Fail (the default) refuses everything it matches while its backend does not answer.
If the backend is pods of the same cluster and it matches nodes, leases, certificate requests or pods of kube-system,
then those pods wait for nodes that cannot come up without them; also after all nodes were restarted at once. Exclude
kube-system and kube-node-lease with a namespaceSelector. For nodes and certificate requests, which are in no
namespace, only other rules or failurePolicy Ignore help.""",
    _run,
)
