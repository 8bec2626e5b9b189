"""What holds of both kinds of templates: their content never changes, except that the topology may try.

When the topology of a Cluster is compared with what is there, the topology controller sends changed templates that are
never stored, and marks them. If these were refused, no Cluster with a ClusterClass could be upgraded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.api.admission.changes import described
from nagaya.api.admission.content import Content, at, mapping
from nagaya.api.admission.field_error import FieldError, forbidden
from nagaya.api.admission.metadata_checks import check_metadata
from nagaya.api.cluster.annotations import DRY_RUN

_SPEC: Final = ("spec", "template", "spec")


def is_judged(new: Content) -> bool:
    """Whether a write of a template is judged at all: not if it is the topology's trial, or of a template that goes."""
    return DRY_RUN not in mapping(new, "metadata", "annotations") and at(new, "metadata", "deletionTimestamp") is None


def changed_template(new: Content, old: Content, remedy: str) -> Iterator[FieldError]:
    """What is wrong with a change. Labels and annotations of what is made may change."""
    changes = described(mapping(new, *_SPEC), mapping(old, *_SPEC))
    if changes:
        yield forbidden(".".join(_SPEC), f"cannot be changed ({changes}): make another template, and {remedy}")
    yield from check_metadata(mapping(new, "spec", "template", "metadata"), "spec.template.metadata")
