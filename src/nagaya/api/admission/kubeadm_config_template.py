"""Admission of KubeadmConfigTemplates."""

from __future__ import annotations

from collections.abc import Iterator

from nagaya.api.admission.content import Content, mapping, put
from nagaya.api.admission.field_error import FieldError
from nagaya.api.admission.kubeadm_config_checks import check_kubeadm_config, with_previous_defaults
from nagaya.api.admission.metadata_checks import check_metadata
from nagaya.api.cluster.annotations import DRY_RUN


def default(new: Content, _: Content | None) -> Content:
    """Nothing, except when the topology controller asks what would change: old objects have defaults that ours lack."""
    if DRY_RUN not in mapping(new, "metadata", "annotations"):
        return new
    return put(new, with_previous_defaults(mapping(new, "spec", "template", "spec")), "spec", "template", "spec")


def validate(new: Content, _: Content | None) -> list[FieldError]:
    """What is wrong with a KubeadmConfigTemplate."""
    return list(_validate(mapping(new, "spec", "template")))


def _validate(template: Content) -> Iterator[FieldError]:
    yield from check_kubeadm_config(mapping(template, "spec"), "spec.template.spec")
    yield from check_metadata(mapping(template, "metadata"), "spec.template.metadata")
