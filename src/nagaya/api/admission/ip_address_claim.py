"""Admission of IPAddressClaims. They never change: who wants another address makes another claim."""

from __future__ import annotations

from nagaya.api.admission.changes import described
from nagaya.api.admission.content import Content, mapping
from nagaya.api.admission.field_error import FieldError, forbidden


def validate(new: Content, old: Content | None) -> list[FieldError]:
    """What is wrong with an IPAddressClaim."""
    changes = "" if old is None else described(mapping(new, "spec"), mapping(old, "spec"))
    return [forbidden("spec", f"IPAddressClaim spec is immutable. Diff: {changes}")] if changes else []
