"""Objects of v1alpha1 are judged by what becomes of them: there is one set of rules, for v1alpha2."""

from __future__ import annotations

from collections.abc import Callable

from nagaya.api.admission.content import Content
from nagaya.api.admission.field_error import FieldError
from nagaya.api.conversion.proxmox.objects import KINDS, OLD_API_VERSION, to_new

Validate = Callable[[Content, Content | None], list[FieldError]]


def of_both_versions(validate: Validate) -> Validate:
    """The rules of v1alpha2, for objects of either version."""

    def judged(new: Content, old: Content | None) -> list[FieldError]:
        return validate(_newest(new), None if old is None else _newest(old))

    return judged


def _newest(content: Content) -> Content:
    if content.get("apiVersion") != OLD_API_VERSION or content.get("kind") not in KINDS:
        return content
    return to_new(content)
