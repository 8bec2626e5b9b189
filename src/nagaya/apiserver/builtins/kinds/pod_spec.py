"""The rules for pod specs, of pods and templates alike, in the order in which the real server goes through them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from nagaya.apiserver.builtins.kinds import container, pod_network, pod_resources, pod_scheduling, pod_windows
from nagaya.apiserver.builtins.kinds.container import Surroundings
from nagaya.apiserver.builtins.kinds.pod_annotations import MIRROR
from nagaya.apiserver.builtins.kinds.pod_rules import Rules
from nagaya.apiserver.builtins.kinds.pod_security import validate_pod_security
from nagaya.apiserver.builtins.kinds.volumes import validate_volumes
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import (
    OMITTED,
    Cause,
    FieldError,
    Path,
    duplicate,
    invalid,
    not_found,
    not_supported,
    required,
)
from nagaya.apiserver.meta.gostring import json as go_json
from nagaya.apiserver.meta.object_meta import validate_labels
from nagaya.apiserver.meta.status import JsonObject

RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PREEMPTION: Final = ("PreemptLowerPriority", "Never")
_LONGEST: Final = 2**31 - 1


def validate_pod_spec(spec: JsonObject, metadata: JsonObject | None, path: Path, rules: Rules) -> Iterator[FieldError]:
    """What is wrong with a pod spec. Templates have no `metadata` here."""
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is None:
        yield required(path.child("terminationGracePeriodSeconds"))
    name = (metadata or {}).get("name") or ""
    volumes, errors = validate_volumes(spec.get("volumes") or (), name, path.child("volumes"), rules)
    yield from errors
    claims: Sequence[JsonObject] = spec.get("resourceClaims") or ()
    yield from _validate_claims(claims, metadata, path.child("resourceClaims"))
    claim_names = {each["name"] for each in claims if each.get("name")}
    restart = spec.get("restartPolicy") or ""
    around = Surroundings(volumes, claim_names, grace, restart, spec.get("hostUsers") is not False, rules)
    main: Sequence[JsonObject] = spec.get("containers") or ()
    yield from container.validate_containers(main, around, path.child("containers"))
    if init := spec.get("initContainers"):
        yield from container.validate_init_containers(init, main, around, path.child("initContainers"))
    if spec.get("ephemeralContainers"):
        yield from container.validate_ephemeral_containers(spec, around, path.child("ephemeralContainers"))
    yield from pod_resources.validate_pod_level(spec, path, claims=claim_names)
    yield from pod_network.validate_host_ports(spec, path, rules)
    yield from _validate_choice(restart, RESTART_POLICIES, path.child("restartPolicy"))
    dns_policy = spec.get("dnsPolicy") or ""
    yield from _validate_choice(dns_policy, _DNS_POLICIES, path.child("dnsPolicy"))
    if selector := spec.get("nodeSelector"):
        yield from validate_labels(selector, path.child("nodeSelector"))
    yield from validate_pod_security(spec, path.child("securityContext"), rules)
    if (affinity := spec.get("affinity")) is not None:
        yield from pod_scheduling.validate_affinity(affinity, path.child("affinity"), rules)
    yield from pod_network.validate_dns(spec.get("dnsConfig"), dns_policy, path.child("dnsConfig"))
    yield from _validate_gates(spec, path)
    if spread := spec.get("topologySpreadConstraints"):
        yield from pod_scheduling.validate_spread(spread, path.child("topologySpreadConstraints"), rules)
    yield from pod_windows.validate_host_process(spec, path)
    yield from pod_network.validate_host_users(spec, path, rules)
    yield from pod_network.validate_host_name(spec, path)
    yield from _validate_rest(spec, path, rules)


def _validate_rest(spec: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
    yield from _validate_name(spec, "serviceAccountName", path)
    yield from _validate_name(spec, "nodeName", path)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _LONGEST:
        yield invalid(path.child("activeDeadlineSeconds"), deadline, names.out_of_range(1, _LONGEST))
    for field in ("hostname", "subdomain"):
        if label := spec.get(field):
            yield from (invalid(path.child(field), label, problem) for problem in names.dns_label(label))
    if tolerations := spec.get("tolerations"):
        yield from pod_scheduling.validate_tolerations(tolerations, path.child("tolerations"), rules)
    if aliases := spec.get("hostAliases"):
        yield from pod_network.validate_host_aliases(aliases, path.child("hostAliases"))
    yield from _validate_name(spec, "priorityClassName", path)
    if (runtime := spec.get("runtimeClassName")) is not None:
        where = path.child("runtimeClassName")
        yield from (invalid(where, runtime, problem) for problem in names.name_is_subdomain(runtime))
    if (preemption := spec.get("preemptionPolicy")) is not None:
        yield from _validate_choice(preemption, _PREEMPTION, path.child("preemptionPolicy"))
    if overhead := spec.get("overhead"):
        yield from pod_resources.validate_requirements(
            {"limits": overhead}, path.child("overhead"), indivisible=rules.indivisible_pages
        )
    yield from pod_windows.validate_os(spec, path)
    yield from _validate_file_variables(spec, path)


def _validate_choice(value: str, known: tuple[str, ...], path: Path) -> Iterator[FieldError]:
    if not value:
        yield required(path)
    elif value not in known:
        yield not_supported(path, value, known)


def _validate_name(spec: JsonObject, field: str, path: Path) -> Iterator[FieldError]:
    if name := spec.get(field):
        yield from (invalid(path.child(field), name, problem) for problem in names.name_is_subdomain(name))


def _validate_gates(spec: JsonObject, path: Path) -> Iterator[FieldError]:
    for position, gate in enumerate(spec.get("readinessGates") or ()):
        kind, where = gate.get("conditionType") or "", path.child("readinessGates").index(position)
        problems = names.qualified_name(kind)
        yield from (invalid(where.child("conditionType"), kind, problem) for problem in problems)
    seen: set[str] = set()
    for position, gate in enumerate(spec.get("schedulingGates") or ()):
        name, where = gate.get("name") or "", path.child("schedulingGates").index(position)
        yield from (invalid(where, name, problem) for problem in names.qualified_name(name))
        if name in seen:
            yield duplicate(where, name)
        seen.add(name)


def _validate_claims(claims: Sequence[JsonObject], metadata: JsonObject | None, path: Path) -> Iterator[FieldError]:
    static = MIRROR in ((metadata or {}).get("annotations") or ())
    seen: set[str] = set()
    for position, claim in enumerate(claims):
        if static:
            yield FieldError(Cause.FORBIDDEN, "", "", "static pods do not support resource claims")
            continue
        where, name = path.index(position), claim.get("name") or ""
        if not name:
            yield required(where.child("name"))
        elif name in seen:
            yield duplicate(where.child("name"), name)
        else:
            yield from (invalid(where.child("name"), name, problem) for problem in names.dns_label(name))
            seen.add(name)
        sources = {field: claim.get(field) for field in ("resourceClaimName", "resourceClaimTemplateName")}
        given = {field: source for field, source in sources.items() if source is not None}
        if len(given) != 1:
            detail = (
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
                if given
                else "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            )
            shown = go_json({"Name": name, **{f"R{field[1:]}": source for field, source in sources.items()}})
            yield FieldError(Cause.INVALID, str(where), OMITTED, f"{shown}: {detail}")
        for field, source in given.items():
            yield from (invalid(where.child(field), source, each) for each in names.name_is_subdomain(source))


def _validate_file_variables(spec: JsonObject, path: Path) -> Iterator[FieldError]:
    volumes = {each.get("name") or "": each for each in spec.get("volumes") or ()}
    for each, where in pod_windows.containers_with_paths(spec, path):
        for position, variable in enumerate(each.get("env") or ()):
            reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
            if reference is None:
                continue
            name = reference.get("volumeName") or ""
            place = where.child("env").index(position).child("valueFrom", "fileKeyRef", "volumeName")
            if name not in volumes:
                yield not_found(place, name)
            elif "emptyDir" not in volumes[name]:
                yield invalid(place, name, "referenced volume must be of type emptyDir")
