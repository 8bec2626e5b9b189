"""Pod security: a namespace's labels say what pods in it may do to their node.

`enforce` refuses pods, `warn` tells whoever writes them (or what makes them), `audit` notes it down. Everything is
allowed where nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from nagaya.apiserver.admission.chain import Plugin
from nagaya.apiserver.admission.pods import containers
from nagaya.apiserver.meta import gostring, status
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.storage import Store

if TYPE_CHECKING:
    from nagaya.apiserver.admission.attributes import Attributes

_PREFIX: Final = "pod-security.kubernetes.io/"
_LEVELS: Final = ("privileged", "baseline", "restricted")
_VERSION: Final = re.compile(r"latest|v1\.(0|[1-9][0-9]*)")
_PASSED_OVER: Final = frozenset({"exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"})
_TEMPLATES: Final[Mapping[str, tuple[str, ...]]] = {
    "podtemplates": ("template",),
    "replicationcontrollers": ("spec", "template"),
    "daemonsets.apps": ("spec", "template"),
    "deployments.apps": ("spec", "template"),
    "replicasets.apps": ("spec", "template"),
    "statefulsets.apps": ("spec", "template"),
    "jobs.batch": ("spec", "template"),
    "cronjobs.batch": ("spec", "jobTemplate", "spec", "template"),
}
_POD_LIMIT: Final = 3000


@dataclass(slots=True)
class Policy:
    """What a namespace's labels say, as level and version for each mode."""

    enforce: tuple[str, str] = ("privileged", "latest")
    audit: tuple[str, str] = ("privileged", "latest")
    warn: tuple[str, str] = ("privileged", "latest")
    errors: list[FieldError] = field(default_factory=list)


def policy_of(labels: Mapping[str, str]) -> Policy:
    """Read the labels. A level that makes no sense is the strictest for `enforce` and the mildest for the others."""
    errors: list[FieldError] = []
    found: dict[str, tuple[str, str]] = {}
    for mode in ("enforce", "audit", "warn"):
        level, version = labels.get(f"{_PREFIX}{mode}"), labels.get(f"{_PREFIX}{mode}-version")
        if level is not None and level not in _LEVELS:
            where = Path("metadata.labels").key(f"{_PREFIX}{mode}")
            errors.append(invalid(where, level, f"must be one of {', '.join(_LEVELS)}"))
            level = "restricted" if mode == "enforce" else "privileged"
        if version is not None and not _VERSION.fullmatch(version):
            where = Path("metadata.labels").key(f"{_PREFIX}{mode}-version")
            errors.append(invalid(where, version, 'must be "latest" or "v1.x"'))
            version = "latest"
        found[mode] = (level or "privileged", version or "latest")
    given = labels.get(f"{_PREFIX}enforce")
    if f"{_PREFIX}warn" not in labels and given in _LEVELS[1:]:
        version = found["warn"][1] if f"{_PREFIX}warn-version" in labels else found["enforce"][1]
        found["warn"] = (found["enforce"][0], version)
    return Policy(**found, errors=errors)


class PodSecurity(Plugin):
    """Holds pods to the standards of their namespace."""

    resources = frozenset({"pods", "namespaces", *_TEMPLATES})

    def __init__(self, store: Store) -> None:
        self._store = store

    async def validate(self, write: Attributes) -> None:
        """Check a pod, what makes pods, or the labels of a namespace."""
        if write.object is None or write.operation not in ("CREATE", "UPDATE"):
            return
        resource = str(write.resource.group_resource)
        if resource == "namespaces":
            if not write.subresource:
                self._check_namespace(write, write.object)
            return
        if write.subresource in _PASSED_OVER or (write.subresource and resource != "pods"):
            return
        record = self._store.get("namespaces", write.namespace)
        if record is None or not any(key.startswith(_PREFIX) for key in record.labels):
            return
        pod: JsonObject = write.object
        for step in _TEMPLATES.get(resource, ()):
            pod = pod.get(step) or {}
        if resource == "pods" and write.old is not None and not _is_significant(pod, write.old):
            return
        _evaluate(write, policy_of(record.labels), pod, enforced=resource == "pods")

    def _check_namespace(self, write: Attributes, namespace: JsonObject) -> None:
        labels = namespace["metadata"].get("labels") or {}
        policy = policy_of(labels)
        before = None
        if write.old is not None:
            before = policy_of(write.old["metadata"].get("labels") or {})
        if policy.errors and (before is None or policy.errors != before.errors):
            raise status.invalid(write.kind.group_kind, write.name, policy.errors)
        if before is None or policy.enforce == before.enforce or policy.enforce[0] == "privileged":
            return
        stricter = _LEVELS.index(policy.enforce[0]) > _LEVELS.index(before.enforce[0])
        if policy.enforce[1] == before.enforce[1] and not stricter:
            return
        for warning in self._violating_pods(write.name, policy.enforce):
            write.call.warn(warning)

    def _violating_pods(self, namespace: str, enforce: tuple[str, str]) -> list[str]:
        """Warnings about pods that are there already and would be refused now."""
        from nagaya.apiserver.admission.pod_security_checks import violations

        records = self._store.list("pods", f"{namespace}/").records
        found: dict[str, list[str]] = {}
        for record in records[:_POD_LIMIT]:
            pod = record.object()
            if reasons := [reason for reason, _ in violations(*enforce, pod["metadata"], pod["spec"])]:
                found.setdefault(", ".join(reasons), []).append(pod["metadata"]["name"])
        warnings = []
        if len(records) > _POD_LIMIT:
            checked = f"first {_POD_LIMIT} of {len(records)} existing pods"
            warnings.append(f"new PodSecurity enforce level only checked against the {checked}")
        if found:
            shown = gostring.quote(":".join(enforce))
            violate = f"violate the new PodSecurity enforce level {shown}"
            warnings.append(f"existing pods in namespace {gostring.quote(namespace)} {violate}")
        return warnings + sorted(f"{_counted(names)}: {reason}" for reason, names in found.items())


def _counted(names: list[str]) -> str:
    others = len(names) - 1
    if not others:
        return names[0]
    return f"{min(names)} (and {others} other {'pod' if others == 1 else 'pods'})"


def _evaluate(write: Attributes, policy: Policy, pod: JsonObject, *, enforced: bool) -> None:
    from nagaya.apiserver.admission.pod_security_checks import violations

    metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}

    def against(level: tuple[str, str]) -> str:
        found = violations(*level, metadata, spec)
        told = ", ".join(f"{reason} ({detail})" if detail else reason for reason, detail in found)
        return f"violate{{}} PodSecurity {gostring.quote(':'.join(level))}: {told}" if found else ""

    annotations = write.call.audit_annotations
    refused = against(policy.enforce) if enforced else ""
    if enforced:
        annotations[f"{_PREFIX}enforce-policy"] = ":".join(policy.enforce)
    if noted := against(policy.audit):
        annotations[f"{_PREFIX}audit-violations"] = f"would {noted.replace('{}', '', 1)}"
    if refused:
        raise write.forbidden(refused.replace("{}", "s", 1))
    if told := against(policy.warn):
        write.call.warn(f"would {told.replace('{}', '', 1)}")


def _is_significant(pod: JsonObject, old: JsonObject) -> bool:
    """Whether an update can change what a pod does to its node."""
    new, before = pod.get("spec") or {}, old.get("spec") or {}
    for member in ("containers", "initContainers"):
        images = [[each.get("image") for each in containers(spec, member)] for spec in (new, before)]
        if images[0] != images[1]:
            return True
    known = {each.get("name"): each.get("image") for each in containers(before, "ephemeralContainers")}
    return any(
        each.get("name") not in known or known[each.get("name")] != each.get("image")
        for each in containers(new, "ephemeralContainers")
    )
