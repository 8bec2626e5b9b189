"""Admission of HostedControlPlanes: what nodes and data depend on stays, and versions go up one minor at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.api.admission.content import Content, at, items, mapping, text
from nagaya.api.admission.field_error import FieldError, forbidden, invalid
from nagaya.api.admission.hosted_control_plane_checks import check_settings
from nagaya.api.admission.version_checks import Version, check_version, parse_version, with_v
from nagaya.api.controlplane.hosted_group import NEWEST_MINOR, OLDEST_MINOR

_FIXED: Final = ("serviceCIDRs", "podCIDRs", "dnsDomain", "dnsServiceIPs")
_FIXED_WITH_ENDPOINT: Final = ("address", "port")


def default(new: Content, _: Content | None) -> Content:
    """A v in front of the version. Everything else has its default in the schema."""
    return with_v(new, "spec", "version")


def validate(new: Content, old: Content | None) -> list[FieldError]:
    """What is wrong with a HostedControlPlane."""
    return list(_validate(new, old))


def _validate(new: Content, old: Content | None) -> Iterator[FieldError]:
    # What was accepted once stays, without effect: otherwise nobody could change or delete the object any more.
    before = () if old is None else {str(each) for each in check_settings(mapping(old, "spec"), "spec")}
    yield from (each for each in check_settings(mapping(new, "spec"), "spec") if str(each) not in before)
    version = text(new, "spec", "version")
    yield from check_version(version, "spec.version")
    if old is None:
        yield from _supported(version)
        return
    yield from _unchanged(new, old)
    if version != text(old, "spec", "version"):
        yield from _supported(version)
        yield from _upgrade(new, old)


def _supported(text_: str) -> Iterator[FieldError]:
    version = parse_version(text_)
    if version is None:
        return
    known = f"v1.{OLDEST_MINOR} to v1.{NEWEST_MINOR}"
    if (version.major, version.minor) < (1, OLDEST_MINOR):
        yield invalid("spec.version", text_, f"is too old: this version of Nagaya runs {known}")
    if (version.major, version.minor) > (1, NEWEST_MINOR):
        yield invalid("spec.version", text_, f"is newer than this version of Nagaya knows, which runs {known}")


def _upgrade(new: Content, old: Content) -> Iterator[FieldError]:
    """One minor version at a time, counted from what still runs, and never back."""
    wanted = parse_version(text(new, "spec", "version"))
    declared = parse_version(text(old, "spec", "version"))
    if wanted is None or declared is None:
        return
    if (wanted.major, wanted.minor) < (declared.major, declared.minor):
        detail = (
            f"cannot go back from {_said(declared)} to {_said(wanted)}: Kubernetes does not read what a newer minor "
            "version has stored. Restore a backup into a new control plane instead"
        )
        yield forbidden("spec.version", detail)
        return
    oldest = min((declared, *_running(old)), key=lambda each: each.numbers)
    if (wanted.major, wanted.minor) > (oldest.major, oldest.minor + 1):
        runs = f"{_said(oldest)}, which is still running," if oldest.numbers < declared.numbers else _said(oldest)
        detail = (
            f"cannot upgrade from {runs} to {_said(wanted)}: Kubernetes is upgraded one minor version at a time. Go to "
            f"v{oldest.major}.{oldest.minor + 1} first"
        )
        yield forbidden("spec.version", detail)


def _running(old: Content) -> Iterator[Version]:
    said = [text(old, "status", "version"), *(text(each, "version") for each in items(old, "status", "versions"))]
    for each in said:
        version = parse_version(each)
        if version is not None:
            yield version


def _said(version: Version) -> str:
    return f"v{version.text}"


def _unchanged(new: Content, old: Content) -> Iterator[FieldError]:
    """What nodes and pods remember: it would have to be changed on all of them at once."""
    for name in _FIXED:
        if at(new, "spec", "network", name) != at(old, "spec", "network", name):
            detail = "cannot be changed: nodes, pods and Services were made with it. Make a new cluster instead"
            yield forbidden(f"spec.network.{name}", detail)
    if not text(old, "spec", "controlPlaneEndpoint", "host"):
        return
    for name in _FIXED_WITH_ENDPOINT:
        if at(new, "spec", "network", name) != at(old, "spec", "network", name):
            detail = "cannot be changed any more: nodes and kubeconfigs have the endpoint. Make a new cluster instead"
            yield forbidden(f"spec.network.{name}", detail)
