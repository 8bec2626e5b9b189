"""kubeadm's JoinConfiguration: what a machine that joins a cluster is told."""

from __future__ import annotations

from collections.abc import Iterable

from nagaya.api.bootstrap.discovery import BootstrapTokenDiscovery, Discovery
from nagaya.api.bootstrap.join_configuration import JoinConfiguration, JoinControlPlane
from nagaya.api.bootstrap.node_registration import Taint
from nagaya.bootstrap.kubeadm_api.document import Document, Part, duration, given
from nagaya.bootstrap.kubeadm_api.node_registration import endpoint, node_registration, patches, timeouts
from nagaya.bootstrap.kubeadm_api.version import KubeadmVersion
from nagaya.bootstrap.preparation import KubeletFacts


def join_document(
    version: KubeadmVersion,
    configuration: JoinConfiguration,
    kubelet: KubeletFacts,
    *,
    control_plane: JoinControlPlane | None = None,
    more_taints: Iterable[Taint] = (),
) -> Document:
    """The document; with `control_plane` that of a control plane machine, whatever the configuration says."""
    found = {
        "apiVersion": version.value,
        "kind": "JoinConfiguration",
        **given(
            nodeRegistration=node_registration(version, configuration.node_registration, kubelet, more_taints),
            caCertPath=configuration.ca_cert_path,
            discovery=_discovery(version, configuration),
            skipPhases=list(configuration.skip_phases),
            patches=patches(configuration.patches),
            timeouts=timeouts(version, configuration.timeouts),
        ),
    }
    if control_plane is not None:
        found["controlPlane"] = Part(localAPIEndpoint=endpoint(control_plane.local_api_endpoint))
    return found


def _discovery(version: KubeadmVersion, configuration: JoinConfiguration) -> Part:
    discovery = configuration.discovery
    # v1beta3 has one limit for all of discovery, which in truth was one for the kubelet's certificate.
    limit = duration(configuration.timeouts.tls_bootstrap_seconds) if version is KubeadmVersion.V1BETA3 else ""
    return Part(
        given(
            bootstrapToken=_token(discovery),
            file=None if discovery.file is None else {"kubeConfigPath": discovery.file.kube_config_path},
            tlsBootstrapToken=discovery.tls_bootstrap_token,
            timeout=limit,
        )
    )


def _token(discovery: Discovery) -> Document:
    found = discovery.bootstrap_token
    if found == BootstrapTokenDiscovery():
        return {}
    return {
        "token": found.token,
        **given(
            apiServerEndpoint=found.api_server_endpoint,
            caCertHashes=list(found.ca_cert_hashes),
            unsafeSkipCAVerification=found.unsafe_skip_ca_verification,
        ),
    }
