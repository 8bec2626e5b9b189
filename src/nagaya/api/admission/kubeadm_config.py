"""Admission of KubeadmConfigs."""

from __future__ import annotations

from nagaya.api.admission.content import Content, mapping
from nagaya.api.admission.field_error import FieldError
from nagaya.api.admission.kubeadm_config_checks import check_kubeadm_config


def validate(new: Content, _: Content | None) -> list[FieldError]:
    """What is wrong with a KubeadmConfig."""
    return list(check_kubeadm_config(mapping(new, "spec"), "spec"))
