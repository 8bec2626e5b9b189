from __future__ import annotations

import pytest

from nagaya.clusters.certificates.key_maker import KeyMaker
from nagaya.clusters.certificates.reader import SecretReader
from nagaya.controlplane.kubeadm.cluster_secrets import ClusterSecrets
from nagaya.kube.runtime import Runtime
from nagaya.kube.tenant_secrets import TENANT_SECRETS
from unit.controlplane.kubeadm.bridge import HARBOUR, NAMESPACE, Bridge, running_bridge

pytestmark = pytest.mark.slow
QUICK = {"clusterConfiguration": {"encryptionAlgorithm": "ECDSA-P256"}}


def secrets(rt: Runtime) -> ClusterSecrets:
    return ClusterSecrets(rt, SecretReader(rt.client, rt.cache), KeyMaker())


async def names(bridge: Bridge) -> set[str]:
    return {each.metadata.name for each in (await bridge.user.list(TENANT_SECRETS, NAMESPACE)).items}


async def test_authorities_and_kubeconfig_are_made_before_the_first_machine_and_only_once() -> None:
    async with running_bridge(secrets) as bridge:
        await bridge.declare(1, kubeadmConfigSpec=QUICK)
        assert await names(bridge) == {f"{HARBOUR}-{each}" for each in ("ca", "sa", "proxy", "etcd", "kubeconfig")}
        for each in (await bridge.user.list(TENANT_SECRETS, NAMESPACE)).items:
            assert each.metadata.controller is not None
            assert each.metadata.controller.kind == "KubeadmControlPlane"
        assert len(await bridge.machines()) == 1
        writes = [each for each in bridge.writes if "secrets" in each]
        await bridge.look()
        assert [each for each in bridge.writes if "secrets" in each] == writes
        assert (await bridge.conditions())["CertificatesAvailable"] == "True"


async def test_an_authority_that_is_lost_after_it_was_used_is_not_made_again() -> None:
    async with running_bridge(secrets) as bridge:
        await bridge.declare(1, kubeadmConfigSpec=QUICK)
        await bridge.bring_all_up()
        await bridge.user.delete(TENANT_SECRETS, NAMESPACE, f"{HARBOUR}-etcd")
        await bridge.idle()
        await bridge.look()
        assert f"{HARBOUR}-etcd" not in await names(bridge)
        told = {each.type: each for each in (await bridge.kcp()).status.conditions}
        assert told["CertificatesAvailable"].status == "False"
        assert told["CertificatesAvailable"].message == (
            "Cluster certificate for etcd is not available, please check cluster certificate secrets"
        )
        assert told["Available"].status == "False"
