"""Admission of ClusterResourceSetBindings."""

from __future__ import annotations

from nagaya.api.admission.content import Content, text
from nagaya.api.admission.field_error import FieldError, invalid


def validate(new: Content, old: Content | None) -> list[FieldError]:
    """What is wrong with a ClusterResourceSetBinding: one that moves to another cluster."""
    before = "" if old is None else text(old, "spec", "clusterName")
    name = text(new, "spec", "clusterName")
    return [invalid("spec.clusterName", name, "field is immutable")] if before and before != name else []
