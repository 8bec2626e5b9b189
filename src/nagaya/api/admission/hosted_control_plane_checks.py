"""Checks that HostedControlPlane and its template share: arguments, plugins, and what goes to Kubernetes unread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nagaya.api.admission.content import Content, items, mapping, text, texts
from nagaya.api.admission.field_error import FieldError, forbidden, invalid
from nagaya.api.admission.hosted_control_plane_network import check_network, parse_ranges
from nagaya.api.admission.metadata_checks import check_metadata
from nagaya.api.controlplane.argument_values import ADMISSION_PLUGINS
from nagaya.api.controlplane.hosted_arguments import PLACES, refused
from nagaya.api.controlplane.hosted_components import AUDIT_POLICY_FIELDS, RESOURCES
from nagaya.api.controlplane.hosted_deployment import ANNOTATION_PREFIXES, is_pod_annotation
from nagaya.api.controlplane.hosted_issuers import issuer_problems


def check_settings(spec: Content, field: str) -> Iterator[FieldError]:
    """What is wrong with the settings of a control plane."""
    masks = {text(each, "name") for each in items(spec, "controllerManager", "extraArgs")}
    sized = any(name.startswith("node-cidr-mask-size") for name in masks)
    yield from check_network(mapping(spec, "network"), f"{field}.network", sized=sized)
    yield from check_untrusted(spec, field)
    for path in (("podMetadata",), ("service", "metadata")):
        yield from check_metadata(mapping(spec, "deployment", *path), ".".join((field, "deployment", *path)))
    sources = texts(spec, "deployment", "service", "loadBalancerSourceRanges")
    _, problems = parse_ranges(sources, f"{field}.deployment.service.loadBalancerSourceRanges")
    yield from problems


def check_untrusted(spec: Content, field: str) -> Iterator[FieldError]:
    """What is wrong with settings that reach command lines, files and pods. The controllers leave out the same parts,
    so that they have no effect where admission is absent."""
    yield from _plugins(mapping(spec, "apiServer", "admissionPlugins"), f"{field}.apiServer.admissionPlugins")
    for place, program in PLACES.items():
        yield from _arguments(items(spec, *place, "extraArgs"), program, ".".join((field, *place, "extraArgs")))
        for what in ("requests", "limits"):
            if unknown := mapping(spec, *place, "resources", what).keys() - RESOURCES:
                detail = f"has {len(unknown)} resources that are not accepted. Accepted are: {', '.join(RESOURCES)}"
                yield forbidden(".".join((field, *place, "resources", what)), detail)
    if any(not is_pod_annotation(each) for each in mapping(spec, "deployment", "podMetadata", "annotations")):
        detail = (
            "has a key that is not accepted: other programs of the node would take orders from it. Accepted are keys "
            f"without a domain, and those of {', '.join(ANNOTATION_PREFIXES)}"
        )
        yield forbidden(f"{field}.deployment.podMetadata.annotations", detail)
    for index, entry in enumerate(items(spec, "apiServer", "authentication", "jwt")):
        for path, why in issuer_problems(entry):
            yield forbidden(f"{field}.apiServer.authentication.jwt[{index}].{path}", why)
    if unknown := mapping(spec, "apiServer", "audit", "policy").keys() - AUDIT_POLICY_FIELDS - {"apiVersion", "kind"}:
        detail = f"has {len(unknown)} fields that are not accepted. Accepted are: {', '.join(AUDIT_POLICY_FIELDS)}"
        yield forbidden(f"{field}.apiServer.audit.policy", detail)


def _arguments(arguments: Sequence[Content], program: str, field: str) -> Iterator[FieldError]:
    given = [(text(each, "name"), text(each, "value")) for each in arguments]
    for each in refused(program, given):
        where = f"{field}[{each.index}].{each.part}"
        is_name = each.part == "name"
        yield forbidden(where, each.reason) if is_name else invalid(where, given[each.index][1], each.reason)


def _plugins(plugins: Content, field: str) -> Iterator[FieldError]:
    for where in ("enable", "disable"):
        if unknown := set(texts(plugins, where)) - ADMISSION_PLUGINS:
            detail = (
                f"has {len(unknown)} plugins that are not accepted: they are unknown or read a file. Accepted are: "
                f"{', '.join(sorted(ADMISSION_PLUGINS))}"
            )
            yield forbidden(f"{field}.{where}", detail)
    both = sorted(set(texts(plugins, "enable")) & set(texts(plugins, "disable")))
    if both:
        yield invalid(f"{field}.disable", both, "must not name plugins that are in enable")
