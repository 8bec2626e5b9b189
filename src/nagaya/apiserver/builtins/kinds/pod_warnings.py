"""What is allowed in a pod spec, but likely a mistake or on its way out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from nagaya.apiserver.builtins.kinds.pod_annotations import APP_ARMOR, SECCOMP, SECCOMP_CONTAINER
from nagaya.apiserver.builtins.kinds.pod_windows import containers_with_paths
from nagaya.apiserver.builtins.kinds.volume_overlaps import overlaps
from nagaya.apiserver.meta import addresses, gostring, names
from nagaya.apiserver.meta.field_errors import Path
from nagaya.apiserver.meta.quantity import parse
from nagaya.apiserver.meta.status import JsonObject

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_NODE_LABELS: Final = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_ANNOTATIONS: Final = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_VOLUMES: Final = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_NO_SELECTOR: Final = "a null labelSelector results in matching no pod"
_USE_SECCOMP: Final = 'non-functional in v1.27+; use the "seccompProfile" field instead'


def for_pod(pod: JsonObject) -> list[str]:
    """Warnings about a new pod."""
    warnings = []
    if problems := names.dns_label(pod["metadata"]["name"]):
        advice = (
            "this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended"
        )
        warnings.append(f"metadata.name: {advice}: [{' '.join(problems)}]")
    return [*warnings, *_for_spec(pod["metadata"], pod["spec"], Path(), in_template=False)]


def for_template(template: JsonObject, path: Path) -> list[str]:
    """Warnings about a template."""
    return list(_for_spec(template.get("metadata") or {}, template.get("spec") or {}, path, in_template=True))


def for_status(status: JsonObject) -> list[str]:
    """Warnings about a reported status."""
    return [
        warning
        for field in ("podIPs", "hostIPs")
        for position, each in enumerate(status.get(field) or ())
        for warning in addresses.address_warnings(
            Path("status").child(field).index(position).child("ip"), each.get("ip") or ""
        )
    ]


def _for_spec(metadata: JsonObject, spec: JsonObject, base: Path, *, in_template: bool) -> Iterator[str]:
    path, annotated = base.child("spec"), base.child("metadata", "annotations")
    annotations = metadata.get("annotations") or {}
    for key in spec.get("nodeSelector") or ():
        if key in _NODE_LABELS:
            yield f"{path.child('nodeSelector').key(key)}: {_NODE_LABELS[key]}"
    yield from _for_node_affinity((spec.get("affinity") or {}).get("nodeAffinity") or {}, path)
    yield from _for_spread(spec.get("topologySpreadConstraints") or (), path.child("topologySpreadConstraints"))
    for key, message in _ANNOTATIONS.items():
        if key in annotations:
            yield f"{annotated.key(key)}: {message}"
    yield from _for_volumes(spec.get("volumes") or (), path.child("volumes"))
    yield from _for_duplicates(spec, path)
    yield from _for_fractions(spec.get("overhead") or {}, path.child("overhead"))
    if SECCOMP in annotations and "seccompProfile" not in (spec.get("securityContext") or {}):
        yield f"{annotated.key(SECCOMP)}: {_USE_SECCOMP}"
    for container, where in containers_with_paths(spec, path):
        yield from _for_profiles(container, spec, annotations, annotated, in_template)
        resources = container.get("resources") or {}
        for name in ("memory", "ephemeral-storage"):
            for side in ("limits", "requests"):
                amounts = {each: text for each, text in (resources.get(side) or {}).items() if each == name}
                yield from _for_fractions(amounts, where.child("resources", side))
        yield from _for_env(container.get("env") or (), where.child("env"))
    yield from _for_ports(spec, path)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        detail = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{path.child('terminationGracePeriodSeconds')}: {detail}"
    yield from _for_pod_affinity(spec.get("affinity") or {}, path.child("affinity"))
    for position, server in enumerate((spec.get("dnsConfig") or {}).get("nameservers") or ()):
        yield from addresses.address_warnings(path.child("dnsConfig", "nameservers").index(position), server)
    for position, alias in enumerate(spec.get("hostAliases") or ()):
        where = path.child("hostAliases").index(position).child("ip")
        yield from addresses.address_warnings(where, alias.get("ip") or "")


def _for_node_affinity(affinity: JsonObject, path: Path) -> Iterator[str]:
    base = path.child("affinity", "nodeAffinity")
    terms = (affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()
    for position, term in enumerate(terms):
        yield from _for_node_term(term, base.child(_REQUIRED, "nodeSelectorTerms").index(position), values=False)
    for position, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        where = base.child(_PREFERRED).index(position).child("preference")
        yield from _for_node_term(weighted.get("preference") or {}, where, values=True)


def _for_node_term(term: JsonObject, path: Path, *, values: bool) -> Iterator[str]:
    for position, expression in enumerate(term.get("matchExpressions") or ()):
        where, key = path.child("matchExpressions").index(position), expression.get("key") or ""
        if key in _NODE_LABELS:
            yield f"{where.child('key')}: {key} is {_NODE_LABELS[key]}"
        for index, value in enumerate((expression.get("values") or ()) if values else ()):
            for problem in names.label_value(value):
                yield f"{where.child('values').index(index)}: {value} is invalid, {problem}"


def _for_spread(constraints: Sequence[JsonObject], path: Path) -> Iterator[str]:
    for position, constraint in enumerate(constraints):
        where, key = path.index(position), constraint.get("topologyKey") or ""
        if key in _NODE_LABELS:
            yield f"{where.child('topologyKey')}: {key} is {_NODE_LABELS[key]}"
        if constraint.get("labelSelector") is None:
            yield f"{where.child('labelSelector')}: {_NO_SELECTOR}"


def _for_volumes(volumes: Sequence[JsonObject], path: Path) -> Iterator[str]:
    for position, volume in enumerate(volumes):
        where = path.index(position)
        for source, message in _VOLUMES.items():
            if source in volume:
                yield f"{where.child('storageOS' if source == 'storageos' else source)}: {message}"
        claim = ((volume.get("ephemeral") or {}).get("volumeClaimTemplate") or {}).get("spec") or {}
        yield from claim_warnings(claim, where.child("ephemeral", "volumeClaimTemplate", "spec"))
    yield from overlaps(volumes)


def claim_warnings(spec: JsonObject, path: Path) -> Iterator[str]:
    """Warnings about a claim on storage."""
    for side in ("requests", "limits"):
        size = ((spec.get("resources") or {}).get(side) or {}).get("storage")
        yield from _for_fractions({} if size is None else {"storage": size}, path.child("resources", side))


def _for_fractions(amounts: JsonObject, path: Path) -> Iterator[str]:
    for name in ("memory", "ephemeral-storage", "storage"):
        if name in amounts and parse(amounts[name]).milli_value % 1000:
            shown = gostring.quote(amounts[name])
            yield f"{path.key(name)}: fractional byte value {shown} is invalid, must be an integer"


def _for_duplicates(spec: JsonObject, path: Path) -> Iterator[str]:
    for field, key in (("hostAliases", "ip"), ("imagePullSecrets", "name")):
        seen: set[str] = set()
        for position, item in enumerate(spec.get(field) or ()):
            value = item.get(key) or ""
            if value in seen:
                yield f"{path.child(field).index(position).child(key)}: duplicate {key} {gostring.quote(value)}"
            seen.add(value)
    for position, secret in enumerate(spec.get("imagePullSecrets") or ()):
        if not secret.get("name"):
            yield f'{path.child("imagePullSecrets").index(position).child("name")}: invalid empty name ""'


def _for_profiles(
    container: JsonObject, spec: JsonObject, annotations: JsonObject, annotated: Path, in_template: bool
) -> Iterator[str]:
    security, name = container.get("securityContext") or {}, container.get("name")
    key = f"{SECCOMP_CONTAINER}{name}"
    if key in annotations and "seccompProfile" not in security:
        yield f"{annotated.key(key)}: {_USE_SECCOMP}"
    key = f"{APP_ARMOR}{name}"
    if in_template and key in annotations and "appArmorProfile" not in security:
        from nagaya.apiserver.builtins.kinds.pod_creation import app_armor_of

        pod_wide = (spec.get("securityContext") or {}).get("appArmorProfile")
        if pod_wide is None or pod_wide != app_armor_of(annotations[key]):
            yield f'{annotated.key(key)}: deprecated since v1.30; use the "appArmorProfile" field instead'


def _for_env(variables: Sequence[JsonObject], path: Path) -> Iterator[str]:
    seen: set[str] = set()
    for position, variable in enumerate(variables):
        name, value = variable.get("name") or "", variable.get("value") or ""
        reference = f"$({name})"
        if name in seen and (variable.get("valueFrom") is not None or value == reference or reference not in value):
            detail = f"hides previous definition of {gostring.quote(name)}, which may be dropped when using apply"
            yield f"{path.index(position)}: {detail}"
        seen.add(name)


_COMPARED: Final = 10  # ports of the same number and protocol that later ones are compared with


def _for_ports(spec: JsonObject, path: Path) -> Iterator[str]:
    known: dict[tuple[int, str], list[tuple[Path, str, int]]] = {}
    places = [
        (port, where.child("ports").index(position))
        for container, where in containers_with_paths(spec, path)
        for position, port in enumerate(container.get("ports") or ())
    ]
    for port, where in places:
        address, host = port.get("hostIP") or "", port.get("hostPort") or 0
        number, protocol = port.get("containerPort") or 0, port.get("protocol") or ""
        if address and not host:
            name = port.get("name") or ""
            shown = f"Name:{name} HostPort:0 ContainerPort:{number} Protocol:{protocol} HostIP:{address}"
            yield f"{where}: hostIP set without hostPort: {{{shown}}}"
        others = known.setdefault((number, protocol), [])
        for other, other_address, other_host in others:
            if (address, host) == (other_address, other_host):
                yield f"{where}: duplicate port definition with {other}"
            elif not host or not other_host:
                yield f"{where}: overlapping port definition with {other}"
            elif host == other_host and bool(address) != bool(other_address):
                yield f"{where}: dangerously ambiguous port definition with {other}"
        if len(others) < _COMPARED:
            others.append((where, address, host))
    named: dict[str, Path] = {}
    for port, where in places:
        if not (name := port.get("name")):
            continue
        if (first := named.get(name)) is not None:
            use = f"services and probes that select ports by name will use {first}"
            yield f"{where}: duplicate port name {gostring.quote(name)} with {first}, {use}"
        else:
            named[name] = where


def _for_pod_affinity(affinity: JsonObject, path: Path) -> Iterator[str]:
    for side in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(side) or {}
        for position, term in enumerate(terms.get(_REQUIRED) or ()):
            if term.get("labelSelector") is None:
                yield f"{path.child(side, _REQUIRED).index(position).child('labelSelector')}: {_NO_SELECTOR}"
        for position, weighted in enumerate(terms.get(_PREFERRED) or ()):
            if (weighted.get("podAffinityTerm") or {}).get("labelSelector") is None:
                where = path.child(side, _PREFERRED).index(position).child("podAffinityTerm", "labelSelector")
                yield f"{where}: {_NO_SELECTOR}"
