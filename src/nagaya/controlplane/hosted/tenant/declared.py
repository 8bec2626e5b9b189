"""From what a HostedControlPlane declares to what its tenant is set up with."""

from __future__ import annotations

from typing import Any, Final

from nagaya.api.controlplane import hosted_addons
from nagaya.api.controlplane.hosted_control_plane import HostedSettings
from nagaya.api.controlplane.hosted_kubelet import JsonPatchOperation
from nagaya.controlplane.hosted.components.facts import TenantFacts
from nagaya.controlplane.hosted.tenant.setup import CoreDns, Konnectivity, KubeProxy, TenantSetup

_WITH_VALUE: Final = ("add", "replace", "test")
_FROM_ELSEWHERE: Final = ("move", "copy")


def setup_of(facts: TenantFacts, host: str, port: int, authority: bytes) -> TenantSetup:
    """The set-up of a tenant whose API machines reach at this host and port, and trust by these certificates (PEM)."""
    settings, network = facts.settings, facts.network
    return TenantSetup(
        cluster_name=facts.cluster_name,
        version=facts.version,
        endpoint=f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
        authority=authority,
        service_cidrs=network.service_cidrs,
        pod_cidrs=network.pod_cidrs,
        dns_domain=network.dns_domain,
        dns_service_ips=network.dns_service_ips,
        kubelet_patches=tuple(map(_operation, settings.kubelet.configuration_patches)),
        verified_kubelets=bool(settings.kubelet.verify_serving_certificates),
        core_dns=_core_dns(settings),
        kube_proxy=_kube_proxy(settings),
        konnectivity=_konnectivity(facts, host),
    )


def _core_dns(settings: HostedSettings) -> CoreDns | None:
    declared = settings.addons.core_dns
    if declared.enabled is False:
        return None
    return CoreDns(declared.image_repository, declared.image_tag, declared.replicas)


def _kube_proxy(settings: HostedSettings) -> KubeProxy | None:
    declared = settings.addons.kube_proxy
    if declared.enabled is False:
        return None
    configuration = {"mode": declared.mode} if declared.mode else {}
    return KubeProxy(declared.image_repository, declared.image_tag, configuration)


def _konnectivity(facts: TenantFacts, host: str) -> Konnectivity | None:
    if facts.tunnel is None:
        return None
    agent, usual = facts.settings.addons.konnectivity.agent, Konnectivity(host)
    return Konnectivity(
        server_host=host,
        server_port=facts.tunnel.agent_port,
        mode="Deployment" if agent.mode == hosted_addons.DEPLOYMENT else "DaemonSet",
        replicas=usual.replicas if agent.replicas is None else agent.replicas,
        host_network=usual.host_network if agent.host_network is None else agent.host_network,
        image_repository=agent.image_repository,
        image_tag=agent.image_tag,
        extra_args=agent.extra_args,
        tolerations=agent.tolerations or usual.tolerations,
    )


def _operation(declared: JsonPatchOperation) -> dict[str, Any]:
    operation: dict[str, Any] = {"op": declared.op, "path": declared.path}
    if declared.op in _FROM_ELSEWHERE:
        operation["from"] = declared.from_
    if declared.op in _WITH_VALUE:
        operation["value"] = declared.value  # null is a value, too
    return operation
