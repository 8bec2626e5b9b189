"""Whether the KubeadmConfig of a machine still is what the control plane declares.

Only differences count that a new machine would be different for. What is filled in by others, what is changed in the
running cluster instead, what matters during the join only, and what merely spells out a default does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from nagaya.api.bootstrap.init_configuration import InitConfiguration
from nagaya.api.bootstrap.join_configuration import JoinConfiguration, JoinControlPlane
from nagaya.api.bootstrap.kubeadm_config import KubeadmConfig
from nagaya.api.bootstrap.kubeadm_config_spec import CLOUD_CONFIG, KubeadmConfigSpec
from nagaya.api.bootstrap.node_registration import NodeRegistration, Timeouts
from nagaya.api.controlplane.kubeadm_control_plane import KubeadmControlPlane
from nagaya.controlplane.kubeadm.kubeadm_config import is_for_join, kubeadm_spec
from nagaya.kube.patches import same

_PULL_POLICY: Final = "IfNotPresent"
_NOTHING: Final = KubeadmConfigSpec()


def outdated_fields(kcp: KubeadmControlPlane, config: KubeadmConfig) -> tuple[str, ...]:
    """The fields that differ, by their paths; values are left out, since some are secret. Empty if none does.

    The first machine was made from `initConfiguration`, the others from `joinConfiguration`, and both should say the
    same. So the first is compared as if it had joined; if it then differs only because the two do not say the same,
    that alone is no reason to replace it.
    """
    as_joined = _differences(_comparable_join(config, kcp), _comparable(kubeadm_spec(kcp, join=True)))
    if not as_joined or is_for_join(config):
        return as_joined
    wanted = kubeadm_spec(kcp, join=False)
    return _differences(_comparable(_filled_in(config.spec, wanted)), _comparable(wanted))


def _comparable_join(config: KubeadmConfig, kcp: KubeadmControlPlane) -> KubeadmConfigSpec:
    wanted = kubeadm_spec(kcp, join=True)
    spec = config.spec
    if not is_for_join(config):
        init = spec.init_configuration
        joined = JoinConfiguration(
            timeouts=init.timeouts,
            patches=init.patches,
            skip_phases=init.skip_phases,
            node_registration=init.node_registration,
            control_plane=JoinControlPlane(local_api_endpoint=init.local_api_endpoint),
            ca_cert_path=wanted.join_configuration.ca_cert_path,  # there is no such thing for init
        )
        spec = msgspec.structs.replace(spec, init_configuration=InitConfiguration(), join_configuration=joined)
    return _comparable(_filled_in(spec, wanted))


def _filled_in(spec: KubeadmConfigSpec, wanted: KubeadmConfigSpec) -> KubeadmConfigSpec:
    """The endpoint is filled in by the bootstrap provider; DNS is changed in the running cluster."""
    cluster = msgspec.structs.replace(
        spec.cluster_configuration,
        control_plane_endpoint=wanted.cluster_configuration.control_plane_endpoint,
        dns=wanted.cluster_configuration.dns,
    )
    return msgspec.structs.replace(spec, cluster_configuration=cluster)


def _comparable(spec: KubeadmConfigSpec) -> KubeadmConfigSpec:
    """With defaults written out, and without what matters during the join only."""
    init, join = spec.init_configuration, spec.join_configuration
    return msgspec.structs.replace(
        spec,
        format=spec.format or CLOUD_CONFIG,
        init_configuration=msgspec.structs.replace(
            init, node_registration=_defaulted(init.node_registration), timeouts=_lasting(init.timeouts)
        ),
        join_configuration=msgspec.structs.replace(
            join,
            node_registration=_defaulted(join.node_registration),
            timeouts=_lasting(join.timeouts),
            discovery=_NOTHING.join_configuration.discovery,
        ),
    )


def _defaulted(registration: NodeRegistration) -> NodeRegistration:
    return msgspec.structs.replace(registration, image_pull_policy=registration.image_pull_policy or _PULL_POLICY)


def _lasting(timeouts: Timeouts) -> Timeouts:
    # Objects of older API versions have it in one place or the other; it counts for the next join in any case.
    return msgspec.structs.replace(timeouts, control_plane_component_health_check_seconds=None)


def _differences(current: KubeadmConfigSpec, wanted: KubeadmConfigSpec) -> tuple[str, ...]:
    if current == wanted:
        return ()
    return tuple(_paths(msgspec.to_builtins(current), msgspec.to_builtins(wanted), "spec"))


def _paths(current: Mapping[str, Any], wanted: Mapping[str, Any], place: str) -> Iterator[str]:
    for name in sorted(current.keys() | wanted.keys()):
        one, other = current.get(name), wanted.get(name)
        # An object without content says no more than none at all; an empty list may say something.
        one = {} if one is None and isinstance(other, Mapping) else one
        other = {} if other is None and isinstance(one, Mapping) else other
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            yield from _paths(one, other, f"{place}.{name}")
        elif not same(one, other):
            yield f"{place}.{name}"
