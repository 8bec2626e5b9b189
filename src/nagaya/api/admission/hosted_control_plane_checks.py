"""Checks that HostedControlPlane and its template share: arguments, plugins, and what goes to Kubernetes unread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nagaya.api.admission.content import Content, items, mapping, text, texts
from nagaya.api.admission.field_error import FieldError, forbidden, invalid
from nagaya.api.admission.hosted_control_plane_network import check_network, parse_ranges
from nagaya.api.admission.metadata_checks import check_metadata
from nagaya.api.controlplane.hosted_arguments import PLACES, refused


def check_settings(spec: Content, field: str) -> Iterator[FieldError]:
    """What is wrong with the settings of a control plane."""
    masks = {text(each, "name") for each in items(spec, "controllerManager", "extraArgs")}
    sized = any(name.startswith("node-cidr-mask-size") for name in masks)
    yield from check_network(mapping(spec, "network"), f"{field}.network", sized=sized)
    for place, program in PLACES.items():
        yield from _arguments(items(spec, *place, "extraArgs"), program, ".".join((field, *place, "extraArgs")))
    yield from _plugins(mapping(spec, "apiServer", "admissionPlugins"), f"{field}.apiServer.admissionPlugins")
    for path in (("podMetadata",), ("service", "metadata")):
        yield from check_metadata(mapping(spec, "deployment", *path), ".".join((field, "deployment", *path)))
    sources = texts(spec, "deployment", "service", "loadBalancerSourceRanges")
    _, problems = parse_ranges(sources, f"{field}.deployment.service.loadBalancerSourceRanges")
    yield from problems


def _arguments(arguments: Sequence[Content], program: str, field: str) -> Iterator[FieldError]:
    names = [text(each, "name") for each in arguments]
    for index, name in enumerate(names):
        if name.startswith("-") or "=" in name or name != name.strip():
            detail = "must be the name of a flag without dashes in front, with its value in the field value"
            yield invalid(f"{field}[{index}].name", name, detail)
    for index, why in refused(program, names):
        yield forbidden(f"{field}[{index}].name", f"--{names[index].lstrip('-')} is set by Nagaya: {why}")


def _plugins(plugins: Content, field: str) -> Iterator[FieldError]:
    both = sorted(set(texts(plugins, "enable")) & set(texts(plugins, "disable")))
    if both:
        yield invalid(f"{field}.disable", both, "must not name plugins that are in enable")
