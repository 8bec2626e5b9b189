"""Simulated clusters against a server: addresses, authorities, pauses and templates, on virtual time."""

from __future__ import annotations

import base64

import pytest

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.simulated.simulated_cluster import SIMULATED_CLUSTERS
from nagaya.api.simulated.simulated_machine_template import SIMULATED_MACHINE_TEMPLATES
from nagaya.kube.patches import Merge
from nagaya.pki import certificates, keys, kubeconfig
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.kubeconfig import ClientCertificate
from support.virtual_run import run
from unit.infrastructure.simulated.yard import CLUSTER, NAMESPACE, SECRETS, Yard, said, yard

pytestmark = pytest.mark.slow


def test_a_paused_cluster_is_left_alone() -> None:
    async def main() -> None:
        async with yard() as here:
            await here.cluster({"paused": True})
            assert said(await here.simulated_cluster(), "Paused") == ("True", "Paused")
            assert not (await here.simulated_cluster()).spec.control_plane_endpoint.valid
            await here.machine("worker", startupSeconds=0)
            host = await here.host("worker")
            assert [each.type for each in host.status.conditions] == ["Paused"]
            await here.user.patch(CLUSTERS, *CLUSTER, Merge({"spec": {"paused": False}}))
            await here.idle()
            assert said(await here.simulated_cluster(), "Ready") == ("True", "Provisioned")
            assert said(await here.simulated_cluster(), "Paused") == ("False", "NotPaused")
            assert (await here.says("worker", "Paused"))[0] == "False"

    run(main())


def test_a_cluster_can_take_its_time_and_offers_failure_domains() -> None:
    async def main() -> None:
        async with yard() as here:
            await here.cluster(provisioningSeconds=20, failureDomains=[{"name": "a", "controlPlane": True}])
            assert said(await here.simulated_cluster(), "Ready") == ("False", "Provisioning")
            await here.wait(21)
            simulated = await here.simulated_cluster()
            assert said(simulated, "Ready") == ("True", "Provisioned")
            assert [each.name for each in simulated.status.failure_domains] == ["a"]
            await here.provisioned()
            await here.machine("cp", control_plane=True, failure_domain="a")
            await here.wait(3)
            assert (await here.host("cp")).status.failure_domain == "a"
            node = await here.kubectl().get("/api/v1/nodes/cp")
            assert node["metadata"]["labels"]["topology.kubernetes.io/zone"] == "a"

    run(main())


def test_an_authority_is_left_to_the_control_plane_provider() -> None:
    async def main() -> None:
        async with yard() as here:
            reference = {"apiGroup": "c.example.com", "kind": "ControlPlane", "name": "cp"}
            await here.cluster({"controlPlaneRef": reference})
            assert said(await here.simulated_cluster(), "Ready") == ("True", "Provisioned")
            assert not await here.exists(SECRETS, "harbour-ca")
            await here.provisioned()
            await here.machine("cp", control_plane=True, startupSeconds=0)
            assert await here.says("cp", "NodeJoined") == ("False", "WaitingForCertificateAuthority")
            made = CertificateAuthority.create("kubernetes", here.world.clock)
            data = {"tls.crt": made.certificate_pem, "tls.key": made.key_pem}
            await here.user.create(
                SECRETS,
                {
                    "metadata": {
                        "namespace": NAMESPACE,
                        "name": "harbour-ca",
                        "labels": {"cluster.x-k8s.io/cluster-name": "harbour"},
                    },
                    "data": {name: base64.b64encode(value).decode() for name, value in data.items()},
                },
            )
            await here.idle()
            assert await here.says("cp", "NodeJoined") == ("True", "Joined")

    run(main())


def test_templates_say_what_their_nodes_will_offer() -> None:
    async def main() -> None:
        async with yard() as here:
            template = {"spec": {"capacity": {"cpu": 16, "example.com/gpu": "2"}}}
            await here.user.create(
                SIMULATED_MACHINE_TEMPLATES,
                {"metadata": {"namespace": NAMESPACE, "name": "large"}, "spec": {"template": template}},
            )
            await here.idle()
            status = (await here.user.get(SIMULATED_MACHINE_TEMPLATES, NAMESPACE, "large")).status
            assert status.capacity["cpu"] == "16"
            assert status.capacity["example.com/gpu"] == "2"
            assert status.capacity["memory"] == "8Gi"
            assert (status.node_info.architecture, status.node_info.operating_system) == ("amd64", "linux")

    run(main())


async def make_kubeconfig(here: Yard) -> None:
    """As the core does it."""
    authority = (await here.user.get(SECRETS, NAMESPACE, "harbour-ca")).raw["data"]
    signer = CertificateAuthority.load(*(base64.b64decode(authority[name]) for name in ("tls.crt", "tls.key")))
    certificate, key = signer.issue_pair(CertificateSpec("kubernetes-admin", ("system:masters",)), here.world.clock)
    endpoint = (await here.simulated_cluster()).spec.control_plane_endpoint
    config = kubeconfig.build(
        f"https://{endpoint}",
        signer.certificate_pem,
        ClientCertificate(certificates.to_pem(certificate), keys.to_pem(key)),
        cluster="harbour",
        user="admin",
    )
    labels = {"cluster.x-k8s.io/cluster-name": "harbour"}
    await here.user.create(
        SECRETS,
        {
            "metadata": {"namespace": NAMESPACE, "name": "harbour-kubeconfig", "labels": labels},
            "data": {"value": base64.b64encode(kubeconfig.to_yaml(config)).decode()},
        },
    )
    await here.idle()


def test_who_waits_for_a_tenant_is_connected_as_soon_as_it_is_there() -> None:
    async def main() -> None:
        async with yard() as here:
            await here.cluster()
            await here.provisioned()
            await make_kubeconfig(here)
            remotes = here.plane.remotes
            remotes.want(CLUSTER)
            await here.wait(1)
            assert remotes.get(CLUSTER) is None
            assert "does not run" in remotes.probe(CLUSTER).problem
            await here.machine("cp", control_plane=True, startupSeconds=1)
            await here.wait(1.5)
            assert remotes.get(CLUSTER) is not None

    run(main())


def test_two_clusters_have_two_addresses() -> None:
    async def main() -> None:
        async with yard() as here:
            await here.cluster()
            endpoint = (await here.simulated_cluster()).spec.control_plane_endpoint
            host = {"host": endpoint.host, "port": endpoint.port}
            other = await here.another("pier", controlPlaneEndpoint=host)
            assert said(other, "Ready") == ("False", "ProvisioningFailed")
            await here.order(SIMULATED_CLUSTERS, "pier", controlPlaneEndpoint=None)
            other = await here.user.get(SIMULATED_CLUSTERS, NAMESPACE, "pier")
            assert said(other, "Ready") == ("True", "Provisioned")
            assert other.spec.control_plane_endpoint != endpoint

    run(main())
