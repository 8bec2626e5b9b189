"""The Secrets of a cluster, made and read by the rules that all control planes share."""

from __future__ import annotations

from typing import Final

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.secrets import Purpose
from nagaya.api.controlplane import conditions as kubeadm
from nagaya.api.controlplane.kubeadm_control_plane import KUBEADM_CONTROL_PLANES, KubeadmControlPlane
from nagaya.api.meta import OwnerReference
from nagaya.clusters import owners
from nagaya.clusters.certificates.apply import apply, apply_kubeconfig
from nagaya.clusters.certificates.key_maker import Keys
from nagaya.clusters.certificates.kubeconfig_plan import KubeconfigPlan, KubeconfigSeen, plan_kubeconfig
from nagaya.clusters.certificates.plan import Plan, Verdict, plan
from nagaya.clusters.certificates.reader import SecretReader
from nagaya.clusters.certificates.seen import AuthoritiesSeen, observe, observe_kubeconfig
from nagaya.clusters.certificates.wanted import Wanted
from nagaya.controlplane.kubeadm.certificates_port import CertificatesSeen, CertificateState, SecretsSeen
from nagaya.controlplane.kubeadm.machine_content import MANAGER
from nagaya.kube.conditions import is_true
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime

_STATES: Final = {
    Verdict.AVAILABLE: CertificateState.AVAILABLE,
    Verdict.MAKE: CertificateState.TO_BE_MADE,
    Verdict.WAIT: CertificateState.BROKEN,
    Verdict.LOST: CertificateState.MISSING,
    Verdict.REFUSED: CertificateState.BROKEN,
}


class ClusterSecrets:
    """Looks after the Secrets of clusters with kubeadm control planes."""

    def __init__(self, rt: Runtime, reader: SecretReader, keys: Keys) -> None:
        self._rt = rt
        self._reader = reader
        self._keys = keys
        self._api = rt.api(MANAGER)

    async def look(self, cluster: Cluster, control_plane: KubeadmControlPlane) -> CertificatesSeen:
        """How it stands with them."""
        seen, planned = await self._authorities(cluster, control_plane)
        _, config = await self._kubeconfig(cluster, control_plane, seen)
        return CertificatesSeen(_authorities_seen(planned), _kubeconfig_seen(config), config.look_again)

    async def make_authorities(self, cluster: Cluster, control_plane: KubeadmControlPlane) -> None:
        """Make what is missing, and put right whose it is."""
        seen, planned = await self._authorities(cluster, control_plane)
        clock = self._rt.world.clock
        await apply(self._api, self._reader, self._keys, seen, planned, _owner(control_plane), clock)

    async def make_kubeconfig(self, cluster: Cluster, control_plane: KubeadmControlPlane) -> None:
        """Make the kubeconfig, renew it, or put right whose it is."""
        authorities, _ = await self._authorities(cluster, control_plane)
        seen, planned = await self._kubeconfig(cluster, control_plane, authorities)
        algorithm = authorities.wanted.algorithm
        clock = self._rt.world.clock
        await apply_kubeconfig(self._api, self._keys, seen, planned, _owner(control_plane), clock, algorithm)

    async def _authorities(self, cluster: Cluster, kcp: KubeadmControlPlane) -> tuple[AuthoritiesSeen, Plan]:
        wanted = Wanted.of(kcp.spec.kubeadm_config_spec.cluster_configuration)
        seen = await observe(self._reader, Key.of(cluster), wanted)
        used = is_true(kcp.status.conditions, kubeadm.INITIALIZED)
        return seen, plan(seen, initialized=used, maker=_owner(kcp))

    async def _kubeconfig(
        self, cluster: Cluster, kcp: KubeadmControlPlane, authorities: AuthoritiesSeen
    ) -> tuple[KubeconfigSeen, KubeconfigPlan]:
        key = Key.of(cluster)
        seen = KubeconfigSeen(
            cluster=key,
            endpoint=cluster.spec.control_plane_endpoint,
            authority=authorities.get(Purpose.CLUSTER_AUTHORITY),
            secret=await observe_kubeconfig(self._reader, key),
            now=self._rt.world.clock.now(),
        )
        return seen, plan_kubeconfig(seen, _owner(kcp))


def _owner(control_plane: KubeadmControlPlane) -> OwnerReference:
    return owners.controller(KUBEADM_CONTROL_PLANES, control_plane)


def _authorities_seen(planned: Plan) -> SecretsSeen:
    if planned.verdict is Verdict.AVAILABLE and planned.adopt:
        return SecretsSeen(CertificateState.TO_BE_MADE, "Certificate authorities belong to the control plane.")
    message = planned.message if planned.verdict is Verdict.LOST else planned.sentence
    return SecretsSeen(_STATES[planned.verdict], message)


def _kubeconfig_seen(planned: KubeconfigPlan) -> SecretsSeen:
    if planned.write or planned.owners is not None:
        sentence = planned.sentence or "The kubeconfig belongs to the control plane."
        return SecretsSeen(CertificateState.TO_BE_MADE, sentence)
    return SecretsSeen(CertificateState.BROKEN if planned.blocked else CertificateState.AVAILABLE, planned.sentence)
