"""Admission of ProxmoxClusterTemplates. They never change: a ClusterClass refers to another one instead.

Much may be missing in them, because the patches of the ClusterClass fill it in: the endpoint for example.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.api.admission.content import Content, mapping, text
from nagaya.api.admission.field_error import FieldError
from nagaya.api.admission.metadata_checks import check_metadata
from nagaya.api.admission.proxmox_cluster_checks import check_cluster, check_endpoint
from nagaya.api.admission.proxmox_templates import changed_template, is_judged

_SPEC: Final = ("spec", "template", "spec")


def validate(new: Content, old: Content | None) -> list[FieldError]:
    """What is wrong with a ProxmoxClusterTemplate."""
    if not is_judged(new):
        return []
    return list(_created(new) if old is None else changed_template(new, old, "let the ClusterClass refer to it"))


def _created(new: Content) -> Iterator[FieldError]:
    spec, field = mapping(new, *_SPEC), ".".join(_SPEC)
    yield from check_cluster(spec, field)
    if text(spec, "controlPlaneEndpoint", "host"):
        yield from check_endpoint(spec, field)
    yield from check_metadata(mapping(new, "spec", "template", "metadata"), "spec.template.metadata")
