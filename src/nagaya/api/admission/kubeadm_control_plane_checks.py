"""Checks that KubeadmControlPlane and its template share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from nagaya.api.admission.content import Content, at, mapping, number, text
from nagaya.api.admission.field_error import FieldError, forbidden, invalid, required
from nagaya.api.admission.names import dns_subdomain
from nagaya.api.admission.version_checks import Version, parse_version
from nagaya.api.cluster.name_template import RANDOM_ALPHABET, RANDOM_LENGTH, TemplateError, generate_name
from nagaya.api.controlplane.rollout import ROLLING_UPDATE

DEFAULT_CA_VALIDITY_DAYS: Final = 3650
_not_in_tags = re.compile(r"[^-a-zA-Z0-9_.]").search
_tolerant = re.compile(r"\s*v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?((?:[-+][0-9A-Za-z.+-]+)?)\s*", re.ASCII).fullmatch


def check_rollout(spec: Content, field: str, replicas: int | None) -> Iterator[FieldError]:
    """A rollout goes on by one machine more or by one less, and certificates live shorter than their authority."""
    strategy = mapping(spec, "rollout", "strategy")
    if not strategy:
        return
    place = f"{field}.rollout.strategy"
    if text(strategy, "type") != ROLLING_UPDATE:
        yield required(f"{place}.type", "only RollingUpdate is supported")
    surge = at(strategy, "rollingUpdate", "maxSurge")
    if surge is not None:
        amount = _int_value(surge)
        if amount == 0 and replicas is not None and replicas < 3:
            detail = "when KubeadmControlPlane is configured to scale-in, replica count needs to be at least 3"
            yield required(f"{place}.rollingUpdate", detail)
        if amount not in (0, 1):
            yield required(f"{place}.rollingUpdate.maxSurge", "value must be 1 or 0")
    yield from _validity(spec, field)


def _int_value(value: object) -> int:
    """An IntOrString as a number; a text that is none counts as 0, as in Go."""
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]+", value, re.ASCII) else 0


def _validity(spec: Content, field: str) -> Iterator[FieldError]:
    configuration = mapping(spec, "kubeadmConfigSpec", "clusterConfiguration")
    days = number(configuration, "certificateValidityPeriodDays")
    if not days:
        return
    place = f"{field}.kubeadmConfigSpec.clusterConfiguration.certificateValidityPeriodDays"
    authority = number(configuration, "caCertificateValidityPeriodDays")
    if authority and days > authority:
        yield invalid(place, days, f"must be less than or equal to caCertificateValidityPeriodDays ({authority})")
    if not authority and days > DEFAULT_CA_VALIDITY_DAYS:
        detail = "must be less than or equal to the default value of caCertificateValidityPeriodDays"
        yield invalid(place, days, f"{detail} ({DEFAULT_CA_VALIDITY_DAYS})")
    before = number(spec, "rollout", "before", "certificatesExpiryDays")
    if before and before >= days:
        detail = f"must be less than certificateValidityPeriodDays ({days})"
        yield invalid(f"{field}.rollout.before.certificatesExpiryDays", before, detail)


def check_naming(spec: Content, field: str) -> Iterator[FieldError]:
    """Names of machines must differ, and be names."""
    template = text(spec, "machineNaming", "template")
    if not template:
        return
    place = f"{field}.machineNaming.template"
    if "{{ .random }}" not in template:
        yield invalid(place, template, "invalid template, {{ .random }} is missing")
    try:
        data = {"cluster": {"name": "cluster"}, "kubeadmControlPlane": {"name": "kubeadmcontrolplane"}}
        name = generate_name(template, data, RANDOM_ALPHABET[:RANDOM_LENGTH])
    except TemplateError as error:
        yield invalid(place, template, f"invalid template: {error}")
    else:
        for problem in dns_subdomain(name):
            detail = f"invalid template, generated names would not be valid Kubernetes object names: {problem}"
            yield invalid(place, template, detail)


def check_cluster_configuration(new: Content, old: Content | None, field: str) -> Iterator[FieldError]:
    """Images have tags that exist somewhere, and data does not move between etcds."""
    tag = text(new, "dns", "imageTag")
    if _not_in_tags(tag):
        yield forbidden(f"{field}.dns.imageTag", f"tag {tag} is invalid")
    if tag and image_version(tag) is None:
        yield invalid("dns.imageTag", tag, "failed to parse CoreDNS version: it is not a version such as v1.12.1")
    local, external = mapping(new, "etcd", "local"), mapping(new, "etcd", "external")
    if _not_in_tags(text(local, "imageTag")):
        yield forbidden(f"{field}.etcd.local.imageTag", f"tag {text(local, 'imageTag')} is invalid")
    if local and external:
        yield forbidden(f"{field}.etcd.local", "cannot have both external and local etcd")
    if old is not None and bool(external) != bool(mapping(old, "etcd", "external")):
        yield forbidden(f"{field}.etcd.external", "cannot change between external and local etcd")


def image_version(tag: str) -> Version | None:
    """The version that the tag of an image tells, leniently: 1.12 is 1.12.0, and an underscore stands for a plus."""
    found = _tolerant(tag.replace("_", "+"))
    if found is None:
        return None
    major, minor, patch, rest = found.groups()
    return parse_version(f"{int(major)}.{int(minor or 0)}.{int(patch or 0)}{rest}")
