"""Admission of KubeadmControlPlaneTemplates. They never change: a ClusterClass refers to another one instead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.api.admission.changes import described
from nagaya.api.admission.content import Content, mapping, put
from nagaya.api.admission.field_error import FieldError, invalid
from nagaya.api.admission.kubeadm_config_checks import check_kubeadm_config, with_previous_defaults
from nagaya.api.admission.kubeadm_control_plane_checks import check_cluster_configuration, check_naming, check_rollout
from nagaya.api.admission.machine_checks import check_taints
from nagaya.api.admission.metadata_checks import check_metadata

_SPEC: Final = ("spec", "template", "spec")
_FORMER_DEFAULT: Final = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}


def validate(new: Content, old: Content | None) -> list[FieldError]:
    """What is wrong with a KubeadmControlPlaneTemplate."""
    return list(_created(new) if old is None else _updated(new, old))


def _created(new: Content) -> Iterator[FieldError]:
    spec, field = mapping(new, *_SPEC), ".".join(_SPEC)
    yield from check_rollout(spec, field, None)
    yield from check_naming(spec, field)
    machines = mapping(spec, "machineTemplate")
    yield from check_taints(mapping(machines, "spec"), f"{field}.machineTemplate.spec.taints")
    yield from check_metadata(mapping(machines, "metadata"), f"{field}.machineTemplate.metadata")
    config = mapping(spec, "kubeadmConfigSpec")
    place = f"{field}.kubeadmConfigSpec"
    yield from check_cluster_configuration(
        mapping(config, "clusterConfiguration"), None, f"{place}.clusterConfiguration"
    )
    yield from check_kubeadm_config(config, place, control_plane=True)
    yield from check_metadata(mapping(new, "spec", "template", "metadata"), "spec.template.metadata")


def _updated(new: Content, old: Content) -> Iterator[FieldError]:
    after, before = _comparable(mapping(new, *_SPEC)), _comparable(mapping(old, *_SPEC))
    if not mapping(after, "rollout", "strategy") and mapping(before, "rollout", "strategy") == _FORMER_DEFAULT:
        # Releases before 1.11 filled it in: applying the same manifest again must stay possible.
        after = put(after, _FORMER_DEFAULT, "rollout", "strategy")
    changes = described(after, before)
    if changes:
        detail = (
            "KubeadmControlPlaneTemplate spec.template.spec field is immutable. Please create new resource instead."
        )
        yield invalid(".".join(_SPEC), mapping(new, "metadata").get("name"), f"{detail} Diff: {changes}")


def _comparable(spec: Content) -> Content:
    return put(spec, with_previous_defaults(mapping(spec, "kubeadmConfigSpec")), "kubeadmConfigSpec")
