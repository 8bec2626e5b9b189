"""Admission of HostedControlPlaneTemplates. They never change: a ClusterClass refers to another one instead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.api.admission.changes import described
from nagaya.api.admission.content import Content, mapping
from nagaya.api.admission.field_error import FieldError, forbidden
from nagaya.api.admission.hosted_control_plane_checks import check_settings
from nagaya.api.admission.metadata_checks import check_metadata

_SPEC: Final = ("spec", "template", "spec")


def validate(new: Content, old: Content | None) -> list[FieldError]:
    """What is wrong with a HostedControlPlaneTemplate."""
    return list(_created(new) if old is None else _updated(new, old))


def _created(new: Content) -> Iterator[FieldError]:
    yield from check_settings(mapping(new, *_SPEC), ".".join(_SPEC))
    yield from check_metadata(mapping(new, "spec", "template", "metadata"), "spec.template.metadata")


def _updated(new: Content, old: Content) -> Iterator[FieldError]:
    changes = described(mapping(new, *_SPEC), mapping(old, *_SPEC))
    if changes:
        detail = f"cannot be changed ({changes}): make another template, and let the ClusterClass refer to it"
        yield forbidden(".".join(_SPEC), detail)
