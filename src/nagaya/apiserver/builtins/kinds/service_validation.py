"""The rules for services, in the order in which the real server goes through them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from nagaya.apiserver.builtins.kinds import service_forms as forms
from nagaya.apiserver.builtins.kinds.core_goshape import duplicate_shape, shape
from nagaya.apiserver.builtins.kinds.endpoints import app_protocol_errors, protocol_errors, reachable
from nagaya.apiserver.meta import addresses, names
from nagaya.apiserver.meta.field_errors import FieldError, Path, duplicate, forbidden, invalid, not_supported, required
from nagaya.apiserver.meta.object_meta import validate_labels
from nagaya.apiserver.meta.status import JsonObject

_SPEC: Final = Path("spec")
_PORTS: Final = _SPEC.child("ports")
_IPS: Final = _SPEC.child("clusterIPs")
_TYPES: Final = (forms.CLUSTER_IP, forms.EXTERNAL_NAME, forms.LOAD_BALANCER, forms.NODE_PORT)
_POLICIES: Final = (forms.PREFER_DUAL, forms.REQUIRE_DUAL, forms.SINGLE)
_FAMILIES: Final = (forms.IPV4, forms.IPV6)
_REACH: Final = ("Cluster", forms.LOCAL)
_DISTRIBUTIONS: Final = ("PreferClose", "PreferSameZone", "PreferSameNode")
_LONGEST_AFFINITY: Final = 86400
_HINTS: Final = "service.kubernetes.io/topology-aware-hints"
_MODE: Final = "service.kubernetes.io/topology-mode"
_SOURCE_RANGES: Final = "service.beta.kubernetes.io/load-balancer-source-ranges"
_LOAD_BALANCER_ONLY: Final = "may only be used when `type` is 'LoadBalancer'"
_PORT: Final = shape(
    "Name=name:s Protocol=protocol:s AppProtocol=appProtocol:p Port=port:i TargetPort=targetPort:i NodePort=nodePort:i"
)


def rules(service: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """What is wrong with a service, apart from its metadata."""
    spec = service["spec"]
    before: JsonObject | None = old["spec"] if old else None
    annotations: Mapping[str, str] = service["metadata"].get("annotations") or {}
    ports: list[JsonObject] = spec.get("ports") or []
    errors = _topology_errors(annotations)
    if not ports and not forms.is_headless(spec) and forms.kind(spec) != forms.EXTERNAL_NAME:
        errors.append(required(_PORTS))
    errors += _type_errors(spec)
    errors += _port_errors(ports)
    errors += validate_labels(spec.get("selector") or {}, _SPEC.child("selector"))
    errors += _affinity_errors(spec)
    errors += cluster_ip_errors(spec, before)
    errors += _external_ip_errors(spec, before)
    if not forms.kind(spec):
        errors.append(required(_SPEC.child("type")))
    elif forms.kind(spec) not in _TYPES:
        errors.append(not_supported(_SPEC.child("type"), forms.kind(spec), _TYPES))
    errors += _repeated_port_errors(spec, ports)
    errors += _source_range_errors(spec, before, annotations, old)
    errors += _load_balancer_errors(spec)
    return errors + _traffic_errors(spec)


def _topology_errors(annotations: Mapping[str, str]) -> list[FieldError]:
    hints, mode = annotations.get(_HINTS), annotations.get(_MODE)
    if hints is None or mode is None or hints == mode:
        return []
    where = Path("metadata.annotations").key(_MODE)
    return [invalid(where, mode, f"must match annotations[{_HINTS}] when both are specified")]


def _type_errors(spec: JsonObject) -> list[FieldError]:
    kind = forms.kind(spec)
    if forms.has_node_ports(spec) and forms.is_headless(spec):
        return [invalid(_IPS.index(0), forms.NONE, f"may not be set to 'None' for {kind} services")]
    if kind != forms.EXTERNAL_NAME:
        return []
    errors = [
        forbidden(_SPEC.child(member), "may not be set for ExternalName services")
        for member in ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
        if spec.get(member)
    ]
    where = _SPEC.child("externalName")
    name: str = (spec.get("externalName") or "").removesuffix(".")
    if not name:
        return [*errors, required(where)]
    return errors + [invalid(where, name, problem) for problem in names.dns_subdomain(name)]


def _port_errors(ports: Sequence[JsonObject]) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for position, port in enumerate(ports):
        where = _PORTS.index(position)
        name = port.get("name") or ""
        if name:
            errors += [invalid(where.child("name"), name, problem) for problem in names.dns_label(name)]
            if name in seen:
                errors.append(duplicate(where.child("name"), name))
            seen.add(name)
        elif len(ports) > 1:
            errors.append(required(where.child("name")))
        errors += [invalid(where.child("port"), port["port"], problem) for problem in names.port_number(port["port"])]
        errors += protocol_errors(where, port.get("protocol") or "")
        target = port["targetPort"]
        problems = names.port_name(target) if isinstance(target, str) else names.port_number(target)
        errors += [invalid(where.child("targetPort"), target, problem) for problem in problems]
        errors += app_protocol_errors(where, port)
    return errors


def _affinity_errors(spec: JsonObject) -> list[FieldError]:
    affinity = spec.get("sessionAffinity") or ""
    where = _SPEC.child("sessionAffinityConfig", "clientIP", "timeoutSeconds")
    if affinity not in ("ClientIP", "None"):
        return [not_supported(_SPEC.child("sessionAffinity"), affinity, ("ClientIP", "None"))]
    if affinity == "None":
        return []
    seconds = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"]
    if 0 < seconds <= _LONGEST_AFFINITY:
        return []
    return [invalid(where, seconds, f"must be greater than 0 and less than {_LONGEST_AFFINITY}")]


def family_of(ip: str) -> str:
    """The family of an address. One of IPv4 that is mapped into IPv6 is of IPv4."""
    parsed = addresses.parse_address(ip)
    if parsed is None:
        return "unknown"
    return forms.IPV6 if ":" in addresses.canonical(parsed) else forms.IPV4


def cluster_ip_errors(spec: JsonObject, before: JsonObject | None) -> list[FieldError]:
    """Whether addresses and families fit each other. Also asked before addresses are given out."""
    if forms.kind(spec) == forms.EXTERNAL_NAME:
        return []
    ips, first = forms.ips(spec), spec.get("clusterIP") or ""
    errors: list[FieldError] = []
    if first and not ips:
        errors.append(required(_IPS))
    elif first and ips[0] != first:
        errors.append(invalid(_IPS, ips, "first value must match `clusterIP`"))
    elif not first and ips:
        errors.append(invalid(_IPS, ips, "must be empty when `clusterIP` is not specified"))
    errors += _family_errors(spec)
    malformed = _malformed_ips(ips, forms.ips(before) if before else [])
    errors += malformed
    if len(ips) > 2:
        errors.append(invalid(_IPS, ips, "may only hold up to 2 values"))
    if malformed:
        return errors
    if len(ips) > 1 and len({family_of(ip) for ip in ips}) < 2:
        errors.append(invalid(_IPS, ips, "may specify no more than one IP for each IP family"))
    if not forms.is_headless(spec):
        for position, (ip, family) in enumerate(zip(ips, forms.families(spec), strict=False)):
            if family in _FAMILIES and family_of(ip) != family:
                detail = f"expected an {family} value as indicated by `ipFamilies[{position}]`"
                errors.append(invalid(_IPS.index(position), ip, detail))
    return errors


def _family_errors(spec: JsonObject) -> list[FieldError]:
    errors: list[FieldError] = []
    where = _SPEC.child("ipFamilies")
    seen: set[str] = set()
    for position, family in enumerate(forms.families(spec)):
        if family not in _FAMILIES:
            errors.append(not_supported(where.index(position), family, _FAMILIES))
        if family in seen:
            errors.append(duplicate(where.index(position), family))
        seen.add(family)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in _POLICIES:
        errors.append(not_supported(_SPEC.child("ipFamilyPolicy"), policy, _POLICIES))
    return errors


def _malformed_ips(ips: list[str], known: list[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for position, ip in enumerate(ips):
        if position == 0 and ip == forms.NONE:
            if len(ips) > 1:
                errors.append(invalid(_IPS, ips, "'None' must be the first and only value"))
            continue
        errors += addresses.validate_legacy_address(_IPS.index(position), ip, known=known)
    return errors


def _external_ip_errors(spec: JsonObject, before: JsonObject | None) -> list[FieldError]:
    known: list[str] = (before or {}).get("externalIPs") or []
    errors: list[FieldError] = []
    for position, ip in enumerate(spec.get("externalIPs") or ()):
        where = _SPEC.child("externalIPs").index(position)
        errors += addresses.validate_legacy_address(where, ip, known=known) or reachable(where, ip)
    return errors


def _repeated_port_errors(spec: JsonObject, ports: Sequence[JsonObject]) -> list[FieldError]:
    errors: list[FieldError] = []
    if forms.kind(spec) == forms.CLUSTER_IP:
        detail = "may not be used when `type` is 'ClusterIP'"
        places = (_PORTS.index(position) for position, port in enumerate(ports) if port.get("nodePort"))
        errors += [forbidden(place.child("nodePort"), detail) for place in places]
    open_ports: set[tuple[str, int]] = set()
    for position, port in enumerate(ports):
        if number := port.get("nodePort"):
            pair = (port.get("protocol") or "", number)
            if pair in open_ports:
                errors.append(duplicate(_PORTS.index(position).child("nodePort"), number))
            open_ports.add(pair)
    seen: set[tuple[str, int]] = set()
    for position, port in enumerate(ports):
        pair = (port.get("protocol") or "", port["port"])
        if pair in seen:
            shown = {"protocol": pair[0], "port": pair[1]}
            errors.append(duplicate_shape(_PORTS.index(position), _PORT, shown))
        seen.add(pair)
    return errors


def _source_range_errors(
    spec: JsonObject, before: JsonObject | None, annotations: Mapping[str, str], old: JsonObject | None
) -> list[FieldError]:
    """Networks that may reach a load balancer, in the field or the older annotation. Both may be padded with spaces."""
    misplaced = forms.kind(spec) != forms.LOAD_BALANCER
    errors: list[FieldError] = []
    if ranges := spec.get("loadBalancerSourceRanges"):
        where = _SPEC.child("LoadBalancerSourceRanges")
        if misplaced:
            errors.append(forbidden(where, _LOAD_BALANCER_ONLY))
        known = [each.strip() for each in (before or {}).get("loadBalancerSourceRanges") or ()]
        for position, text in enumerate(ranges):
            errors += addresses.validate_legacy_network(where.index(position), text.strip(), known=known)
        return errors
    text = annotations.get(_SOURCE_RANGES)
    if text is None:
        return errors
    where = Path("metadata.annotations").key(_SOURCE_RANGES)
    if misplaced:
        errors.append(forbidden(where, _LOAD_BALANCER_ONLY))
    unchanged = old is not None and (old["metadata"].get("annotations") or {}).get(_SOURCE_RANGES, "") == text
    if text.strip() and not unchanged:
        for network in text.strip().split(","):
            errors += addresses.validate_legacy_network(where, network.strip())
    return errors


def _load_balancer_errors(spec: JsonObject) -> list[FieldError]:
    errors: list[FieldError] = []
    balanced = forms.kind(spec) == forms.LOAD_BALANCER
    allocate = spec.get("allocateLoadBalancerNodePorts")
    if allocate is not None and not balanced:
        errors.append(forbidden(_SPEC.child("allocateLoadBalancerNodePorts"), _LOAD_BALANCER_ONLY))
    if allocate is None and balanced:
        errors.append(required("allocateLoadBalancerNodePorts"))
    return errors + load_balancer_class_errors(spec)


def load_balancer_class_errors(spec: JsonObject) -> list[FieldError]:
    """Which load balancer, if that is said."""
    where = _SPEC.child("loadBalancerClass")
    given = spec.get("loadBalancerClass")
    if given is None:
        return []
    if forms.kind(spec) != forms.LOAD_BALANCER:
        return [forbidden(where, _LOAD_BALANCER_ONLY)]
    return [invalid(where, given, problem) for problem in names.qualified_name(given)]


def _traffic_errors(spec: JsonObject) -> list[FieldError]:
    errors: list[FieldError] = []
    where, policy = _SPEC.child("externalTrafficPolicy"), spec.get("externalTrafficPolicy") or ""
    if not forms.is_external(spec):
        if policy:
            errors.append(invalid(where, policy, "may only be set for externally-accessible services"))
    elif not policy:
        errors.append(required(where))
    elif policy not in _REACH:
        errors.append(not_supported(where, policy, _REACH))
    errors += _health_check_errors(spec)
    where, inside = _SPEC.child("internalTrafficPolicy"), spec.get("internalTrafficPolicy")
    if inside is None and forms.kind(spec) in (forms.CLUSTER_IP, forms.NODE_PORT, forms.LOAD_BALANCER):
        errors.append(required(where))
    elif inside is not None and inside not in _REACH:
        errors.append(not_supported(where, inside, _REACH))
    spread = spec.get("trafficDistribution")
    if spread is not None and spread not in _DISTRIBUTIONS:
        errors.append(not_supported(_SPEC.child("trafficDistribution"), spread, _DISTRIBUTIONS))
    return errors


def _health_check_errors(spec: JsonObject) -> list[FieldError]:
    where, port = _SPEC.child("healthCheckNodePort"), spec.get("healthCheckNodePort") or 0
    if not forms.needs_health_check(spec):
        detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        return [invalid(where, port, detail)] if port else []
    if not port:
        return [required(where)]
    return [invalid(where, port, problem) for problem in names.port_number(port)]


def load_balancer_status(status: JsonObject, old: JsonObject, spec: JsonObject) -> list[FieldError]:
    """What is wrong with the places at which a load balancer says it is."""
    where = Path("status.loadBalancer.ingress")
    ingresses: list[JsonObject] = status.get("ingress") or []
    if forms.kind(spec) != forms.LOAD_BALANCER and ingresses:
        return [forbidden(where, "may only be used when `spec.type` is 'LoadBalancer'")]
    known = [each["ip"] for each in old.get("ingress") or () if each.get("ip")]
    errors: list[FieldError] = []
    for position, ingress in enumerate(ingresses):
        errors += _ingress_errors(ingress, where.index(position), known)
    return errors


def _ingress_errors(ingress: JsonObject, where: Path, known: list[str]) -> list[FieldError]:
    ip, mode, hostname = ingress.get("ip") or "", ingress.get("ipMode"), ingress.get("hostname") or ""
    errors: list[FieldError] = []
    if ip:
        errors += addresses.validate_legacy_address(where.child("ip"), ip, known=known)
    if mode is None and ip:
        errors.append(required(where.child("ipMode"), "must be specified when `ip` is set"))
    elif mode is not None and not ip:
        errors.append(forbidden(where.child("ipMode"), "may not be specified when `ip` is not set"))
    elif mode is not None and mode not in ("Proxy", "VIP"):
        errors.append(not_supported(where.child("ipMode"), mode, ("Proxy", "VIP")))
    if hostname:
        errors += [invalid(where.child("hostname"), hostname, problem) for problem in names.dns_subdomain(hostname)]
        if addresses.parse_address(hostname) is not None:
            errors.append(invalid(where.child("hostname"), hostname, "must be a DNS name, not an IP address"))
    return errors
