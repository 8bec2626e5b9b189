"""How a pod is found and how it finds others: host names, DNS, and the network of its host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from nagaya.apiserver.builtins.kinds.pod_rules import Rules
from nagaya.apiserver.builtins.kinds.pod_windows import containers_with_paths
from nagaya.apiserver.meta import addresses, names
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden, invalid, required, too_long
from nagaya.apiserver.meta.status import JsonObject

_MOST_SERVERS: Final = 3
_MOST_SEARCHES: Final = 32
_LONGEST_SEARCHES: Final = 2048
_LONGEST_HOST_NAME: Final = 64


def validate_dns(config: JsonObject | None, policy: str, path: Path) -> Iterator[FieldError]:
    """Name servers and search paths; without a policy they are all a pod has."""
    if policy == "None":
        if config is None:
            yield required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not config.get("nameservers"):
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield required(path.child("nameservers"), detail)
            return
    if config is None:
        return
    servers, searches = config.get("nameservers") or [], config.get("searches") or []
    if len(servers) > _MOST_SERVERS:
        yield invalid(path.child("nameservers"), servers, f"must not have more than {_MOST_SERVERS} nameservers")
    for position, server in enumerate(servers):
        yield from addresses.validate_legacy_address(path.child("nameservers").index(position), server)
    where = path.child("searches")
    if len(searches) > _MOST_SEARCHES:
        yield invalid(where, searches, f"must not have more than {_MOST_SEARCHES} search paths")
    if names.size(" ".join(searches)) > _LONGEST_SEARCHES:
        detail = f"must not have more than {_LONGEST_SEARCHES} characters (including spaces) in the search list"
        yield invalid(where, searches, detail)
    for position, search in enumerate(searches):
        if search != ".":
            domain = search.removesuffix(".")
            problems = names.dns_subdomain_with_underscore(domain)
            yield from (invalid(where.index(position), domain, problem) for problem in problems)
    for position, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            yield required(path.child("options").index(position), "must not be empty")


def validate_host_aliases(aliases: Sequence[JsonObject], path: Path) -> Iterator[FieldError]:
    """Names that a pod knows addresses by."""
    for position, alias in enumerate(aliases):
        where = path.index(position)
        yield from addresses.validate_legacy_address(where.child("ip"), alias.get("ip") or "")
        for index, name in enumerate(alias.get("hostnames") or ()):
            place = where.child("hostnames").index(index)
            yield from (invalid(place, name, problem) for problem in names.dns_subdomain(name))


def validate_host_ports(spec: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
    """In the host's network a port is the host's port."""
    if not spec.get("hostNetwork"):
        return
    for position, container in enumerate(spec.get("containers") or ()):
        for index, port in enumerate(container.get("ports") or ()):
            host = port.get("hostPort") or 0
            if (rules.for_pod or host) and host != (port.get("containerPort") or 0):
                where = path.child("containers").index(position).child("ports").index(index).child("hostPort")
                yield invalid(where, host, "must match `containerPort` when `hostNetwork` is true")


def validate_host_users(spec: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
    """A pod with users of its own shares little with its host."""
    if spec.get("hostUsers") is not False:
        return
    detail = "when `hostUsers` is false"
    if spec.get("hostNetwork") and not rules.host_network_without_host_users:
        yield forbidden(path.child("hostNetwork"), detail)
    if spec.get("hostPID"):
        yield forbidden(path.child("HostPID"), detail)
    if spec.get("hostIPC"):
        yield forbidden(path.child("HostIPC"), detail)
    if not rules.devices_without_host_users:
        for container, where in containers_with_paths(spec, path):
            if container.get("volumeDevices"):
                yield forbidden(where.child("volumeDevices"), detail)


def validate_host_name(spec: JsonObject, path: Path) -> Iterator[FieldError]:
    """A host name that replaces the one a pod would get."""
    name = spec.get("hostnameOverride")
    if name is None:
        return
    where = path.child("hostnameOverride")
    if spec.get("setHostnameAsFQDN"):
        yield forbidden(where, "may not be specified when setHostnameAsFQDN is true")
    if spec.get("hostNetwork"):
        yield forbidden(where, "may not be specified when hostNetwork is true")
    if names.size(name) > _LONGEST_HOST_NAME:
        yield too_long(where, _LONGEST_HOST_NAME)
    yield from (invalid(where, name, problem) for problem in names.dns_subdomain(name))
