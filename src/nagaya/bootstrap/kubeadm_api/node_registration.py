"""What `kubeadm init` and `kubeadm join` have in common: how the node registers, endpoint, patches, time limits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from nagaya.api.bootstrap.component import Argument
from nagaya.api.bootstrap.node_registration import APIEndpoint, NodeRegistration, Patches, Taint, Timeouts
from nagaya.bootstrap.kubeadm_api.components import arguments
from nagaya.bootstrap.kubeadm_api.document import Document, Part, duration, given, moment
from nagaya.bootstrap.kubeadm_api.version import KubeadmVersion
from nagaya.bootstrap.preparation import KubeletFacts

_NODE_IP: Final = "node-ip"
_PROVIDER_ID: Final = "provider-id"
_CLOUD_PROVIDER: Final = "cloud-provider"
_EXTERNAL: Final = "external"


def node_registration(
    version: KubeadmVersion,
    registration: NodeRegistration,
    kubelet: KubeletFacts,
    more_taints: Iterable[Taint] = (),
) -> Part:
    """How the node registers.

    No taints at all, which means kubeadm's own, and an empty list of taints are different things, so the field is
    always there. `more_taints` are added unless the user has them already.
    """
    taints = registration.taints
    known = {(each.key, each.effect) for each in taints or ()}
    if more := tuple(each for each in more_taints if (each.key, each.effect) not in known):
        taints = (taints or ()) + more
    old = version is KubeadmVersion.V1BETA3
    found = Part(
        given(
            name=registration.name,
            criSocket=registration.cri_socket,
        )
    )
    found["taints"] = None if taints is None else [_taint(each) for each in taints]
    found.update(
        given(
            kubeletExtraArgs=arguments(version, _kubelet_arguments(registration, kubelet)),
            ignorePreflightErrors=list(registration.ignore_preflight_errors),
            imagePullPolicy=registration.image_pull_policy,
        )
    )
    if registration.image_pull_serial is not None and not old:
        found["imagePullSerial"] = registration.image_pull_serial
    return found


def endpoint(local: APIEndpoint) -> Part:
    """Where the API server of the machine listens."""
    return Part(given(advertiseAddress=local.advertise_address, bindPort=local.bind_port))


def patches(found: Patches) -> Document:
    """Where kubeadm finds patches."""
    return given(directory=found.directory)


def timeouts(version: KubeadmVersion, found: Timeouts) -> Document:
    """How long kubeadm waits; v1beta3 has these elsewhere or not at all."""
    if version is KubeadmVersion.V1BETA3:
        return {}
    return given(
        controlPlaneComponentHealthCheck=duration(found.control_plane_component_health_check_seconds),
        kubeletHealthCheck=duration(found.kubelet_health_check_seconds),
        kubernetesAPICall=duration(found.kubernetes_api_call_seconds),
        etcdAPICall=duration(found.etcd_api_call_seconds),
        tlsBootstrap=duration(found.tls_bootstrap_seconds),
        discovery=duration(found.discovery_seconds),
    )


def _kubelet_arguments(registration: NodeRegistration, kubelet: KubeletFacts) -> tuple[Argument, ...]:
    asked = registration.kubelet_extra_args
    names = {each.name for each in asked}
    facts = (
        (_NODE_IP, kubelet.node_ip),
        (_PROVIDER_ID, kubelet.provider_id),
        (_CLOUD_PROVIDER, _EXTERNAL if kubelet.cloud_provider_external else ""),
    )
    return asked + tuple(Argument(name=name, value=value) for name, value in facts if value and name not in names)


def _taint(taint: Taint) -> Document:
    found = {"key": taint.key, **given(value=taint.value), "effect": taint.effect}
    return found if taint.time_added is None else {**found, "timeAdded": moment(taint.time_added)}
