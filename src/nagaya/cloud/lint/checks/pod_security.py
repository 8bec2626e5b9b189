"""L18: the namespace must allow what a cloud controller manager has to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.cloud.lint.check import Check, finding
from nagaya.cloud.lint.finding import Finding, Severity
from nagaya.cloud.lint.manifest import Manifest
from nagaya.cloud.lint.manifests import Manifests
from nagaya.cloud.lint.plain import at, mappings, text, texts
from nagaya.cloud.lint.workload import Workload

_ID: Final = "L18"
ENFORCE: Final = "pod-security.kubernetes.io/enforce"
_STRICT: Final = ("baseline", "restricted")
_POLICY_WORDS: Final = ("hostNetwork", "hostPorts", "host-namespaces", "host-network")


def _run(manifests: Manifests) -> Iterator[Finding]:
    for each in manifests.inside:
        if each.static:
            continue
        namespace = manifests.find("Namespace", "", each.namespace)
        level = "" if namespace is None else namespace.labels.get(ENFORCE, "")
        path = f"metadata.labels[{ENFORCE}]"
        if not level and (default := _default(manifests, each.namespace)) is not None:
            namespace, level, path = default, text(at(_settings(default), "defaults", "enforce")), "defaults.enforce"
        forbidden = _forbidden(each, level)
        if namespace is not None and forbidden:
            yield finding(
                _ID,
                Severity.ERROR,
                namespace,
                path,
                f"{level}: {', '.join(forbidden)}",
                f"Pod security {level} in namespace {each.namespace} forbids {', '.join(forbidden)}, so no pod of "
                f"{each} is ever made.",
                f"labels:\n  {ENFORCE}: privileged",
            )
        for policy in manifests.of("ClusterPolicy", "Policy"):
            if each.host_network and _enforces(policy) and any(word in str(policy.raw) for word in _POLICY_WORDS):
                yield finding(
                    _ID,
                    Severity.WARNING,
                    policy,
                    "spec.rules",
                    policy.name,
                    f"This policy speaks of the host's network and is enforced; if it covers namespace "
                    f"{each.namespace}, no pod of {each} is made.",
                    f"exclude:\n  any:\n  - resources:\n      namespaces: [{each.namespace}]",
                )


def _forbidden(workload: Workload, level: str) -> list[str]:
    if level not in _STRICT:
        return []
    found = [f"{name}: true" for name in ("hostNetwork", "hostPID", "hostIPC") if workload.pod.get(name) is True]
    if any("hostPath" in each for each in mappings(workload.pod.get("volumes"))):
        found.append("hostPath volumes")
    for _, container in workload.all_containers:
        if at(container, "securityContext", "privileged") is True:
            found.append("privileged containers")
        if level == "restricted":
            found += _restricted(workload, container)
    return list(dict.fromkeys(found))


def _restricted(workload: Workload, container: object) -> Iterator[str]:
    """What the level restricted demands of every container."""
    context, whole = at(container, "securityContext"), workload.pod.get("securityContext")
    if at(context, "allowPrivilegeEscalation") is not False:
        yield "containers without allowPrivilegeEscalation: false"
    if "ALL" not in texts(at(context, "capabilities", "drop")):
        yield "containers that do not drop all capabilities"
    non_root = at(context, "runAsNonRoot")
    if (at(whole, "runAsNonRoot") if non_root is None else non_root) is not True:
        yield "containers without runAsNonRoot: true"
    profile = at(context, "seccompProfile", "type") or at(whole, "seccompProfile", "type")
    if profile not in ("RuntimeDefault", "Localhost"):
        yield "containers without a seccompProfile"


def _default(manifests: Manifests, namespace: str) -> Manifest | None:
    """The API server's own settings for namespaces without a label, unless this one is exempt."""
    for each in manifests.of("PodSecurityConfiguration", "AdmissionConfiguration"):
        settings = _settings(each)
        if settings is not None and namespace not in texts(at(settings, "exemptions", "namespaces")):
            return each
    return None


def _settings(manifest: Manifest) -> object:
    if manifest.kind == "PodSecurityConfiguration":
        return manifest.raw
    plugins = mappings(manifest.raw.get("plugins"))
    return next((each.get("configuration") for each in plugins if each.get("name") == "PodSecurity"), None)


def _enforces(policy: Manifest) -> bool:
    action = text(policy.spec.get("validationFailureAction")).lower()
    rules = (text(at(each, "validate", "failureAction")).lower() for each in mappings(policy.spec.get("rules")))
    return policy.group == "kyverno.io" and "enforce" in (action, *rules)


CHECK: Final = Check(
    _ID,
    "the namespace forbids what the cloud controller manager has to do",
    Severity.ERROR,
    """Pod security levels baseline and restricted forbid hostNetwork, host ports and hostPath volumes; restricted also
demands runAsNonRoot, a seccomp profile, no privilege escalation and no capabilities. A Deployment in such a namespace
is accepted, and only its ReplicaSet's events tell that no pod is made. Keep the cloud controller manager in a
namespace of its own with the level privileged, or in kube-system without a level.""",
    _run,
)
