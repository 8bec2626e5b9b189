"""kubeadm's ClusterConfiguration: the user's settings, and what the Cluster and the Machine know better."""

from __future__ import annotations

from dataclasses import dataclass

from nagaya.api.bootstrap.cluster_configuration import ClusterConfiguration
from nagaya.api.bootstrap.etcd import Etcd, ExternalEtcd, LocalEtcd
from nagaya.api.bootstrap.node_registration import Timeouts
from nagaya.bootstrap.kubeadm_api.components import arguments, component, environment
from nagaya.bootstrap.kubeadm_api.document import Document, Part, days, duration, given
from nagaya.bootstrap.kubeadm_api.version import KubeadmVersion


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """What kubeadm needs to know of the Cluster. Lists of subnets are joined by commas; empty means kubeadm's own."""

    name: str
    control_plane_endpoint: str = ""
    """host:port, used unless the user gave one in clusterConfiguration."""
    dns_domain: str = ""
    service_subnet: str = ""
    pod_subnet: str = ""


def cluster_document(
    version: KubeadmVersion,
    configuration: ClusterConfiguration,
    cluster: ClusterFacts,
    kubernetes_version: str,
    timeouts: Timeouts,
) -> Document:
    """The document. `timeouts` are those of the InitConfiguration, one of which v1beta3 has here."""
    old = version is KubeadmVersion.V1BETA3
    health_check = duration(timeouts.control_plane_component_health_check_seconds) if old else ""
    api_server = component(version, configuration.api_server)
    api_server.update(
        given(certSANs=list(configuration.api_server.cert_sans), timeoutForControlPlane=health_check),
    )
    new = (
        {}
        if old
        else given(
            proxy=Part(),
            encryptionAlgorithm=configuration.encryption_algorithm,
            certificateValidityPeriod=days(configuration.certificate_validity_period_days),
            caCertificateValidityPeriod=days(configuration.ca_certificate_validity_period_days),
        )
    )
    return {
        "apiVersion": version.value,
        "kind": "ClusterConfiguration",
        **given(
            clusterName=cluster.name,
            kubernetesVersion=kubernetes_version,
            controlPlaneEndpoint=configuration.control_plane_endpoint or cluster.control_plane_endpoint,
            networking=Part(
                given(
                    serviceSubnet=cluster.service_subnet,
                    podSubnet=cluster.pod_subnet,
                    dnsDomain=cluster.dns_domain,
                )
            ),
            etcd=_etcd(version, configuration.etcd),
            apiServer=api_server,
            controllerManager=component(version, configuration.controller_manager),
            scheduler=component(version, configuration.scheduler),
            dns=Part(given(imageRepository=configuration.dns.image_repository, imageTag=configuration.dns.image_tag)),
            certificatesDir=configuration.certificates_dir,
            imageRepository=configuration.image_repository,
            featureGates=dict(configuration.feature_gates),
        ),
        **new,
    }


def _etcd(version: KubeadmVersion, etcd: Etcd) -> Part:
    found = Part()
    if etcd.local != LocalEtcd():
        found["local"] = _local(version, etcd.local)
    if etcd.external is not None:
        found["external"] = _external(etcd.external)
    return found


def _local(version: KubeadmVersion, local: LocalEtcd) -> Document:
    return {
        **given(imageRepository=local.image_repository, imageTag=local.image_tag),
        "dataDir": local.data_dir,
        **given(
            extraArgs=arguments(version, local.extra_args),
            extraEnvs=environment(version, local.extra_envs),
            serverCertSANs=list(local.server_cert_sans),
            peerCertSANs=list(local.peer_cert_sans),
        ),
    }


def _external(external: ExternalEtcd) -> Document:
    return {
        "endpoints": list(external.endpoints),
        "caFile": external.ca_file,
        "certFile": external.cert_file,
        "keyFile": external.key_file,
    }
