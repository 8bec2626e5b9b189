"""How a joining machine is told where the cluster is and how to recognise it.

What the user gave stays. The rest is filled in, and written into the config, so that after a crash the same machine is
told the same, with the same token.
"""

from __future__ import annotations

import base64
from typing import Any, Final

import msgspec

from nagaya.api.bootstrap.discovery import BootstrapTokenDiscovery, Discovery, FileDiscovery
from nagaya.api.bootstrap.join_configuration import JoinConfiguration, JoinControlPlane
from nagaya.api.bootstrap.kubeadm_config import KubeadmConfig
from nagaya.api.cluster.cluster import Cluster
from nagaya.bootstrap.kubeadm_config.tokens import Token
from nagaya.clusters.certificates.held import Held

NO_ENDPOINT: Final = "Waiting for Cluster spec.controlPlaneEndpoint to be set"


def uses_token(config: KubeadmConfig) -> bool:
    """Whether the machine is let in by a token that is looked after here."""
    return config.spec.join_configuration.discovery.file is None


def endpoint_missing(config: KubeadmConfig, cluster: Cluster) -> bool:
    """Whether nothing says yet where the cluster is."""
    if cluster.spec.control_plane_endpoint.valid:
        return False
    discovery = config.spec.join_configuration.discovery
    if discovery.file is None:
        return not discovery.bootstrap_token.api_server_endpoint
    return discovery.file.kube_config is not None and not discovery.file.kube_config.cluster.server


def completed(config: KubeadmConfig, cluster: Cluster, authority: Held, *, control_plane: bool) -> JoinConfiguration:
    """The configuration with everything filled in, except for a token."""
    join = config.spec.join_configuration
    if control_plane and join.control_plane is None:
        join = msgspec.structs.replace(join, control_plane=JoinControlPlane())
    discovery = join.discovery
    if discovery.file is None:
        filled = msgspec.structs.replace(
            discovery, bootstrap_token=_by_token(discovery.bootstrap_token, cluster, authority)
        )
    else:
        filled = msgspec.structs.replace(discovery, file=_by_file(discovery.file, cluster, authority))
    return msgspec.structs.replace(join, discovery=filled)


def with_token(join: JoinConfiguration, token: Token) -> JoinConfiguration:
    """The configuration with a token."""
    by_token = msgspec.structs.replace(join.discovery.bootstrap_token, token=token.text)
    return msgspec.structs.replace(join, discovery=msgspec.structs.replace(join.discovery, bootstrap_token=by_token))


def change(before: JoinConfiguration, after: JoinConfiguration) -> dict[str, Any] | None:
    """The merge patch of a config that makes it say what it did not say before; None if it says it."""
    found: dict[str, Any] = {}
    if before.discovery != after.discovery:
        found["discovery"] = _differing(before.discovery, after.discovery)
    if before.control_plane is None and after.control_plane is not None:
        found["controlPlane"] = msgspec.to_builtins(after.control_plane)
    return {"spec": {"joinConfiguration": found}} if found else None


def _differing(before: Discovery, after: Discovery) -> dict[str, Any]:
    known, wanted = msgspec.to_builtins(before), msgspec.to_builtins(after)
    return {name: value for name, value in wanted.items() if known.get(name) != value}


def _by_token(given: BootstrapTokenDiscovery, cluster: Cluster, authority: Held) -> BootstrapTokenDiscovery:
    hashes = given.ca_cert_hashes
    if not hashes and not given.unsafe_skip_ca_verification:
        hashes = tuple(authority.pins)
    endpoint = given.api_server_endpoint or str(cluster.spec.control_plane_endpoint)
    return msgspec.structs.replace(given, ca_cert_hashes=hashes, api_server_endpoint=endpoint)


def _by_file(given: FileDiscovery, cluster: Cluster, authority: Held) -> FileDiscovery:
    kubeconfig = given.kube_config
    if kubeconfig is None:
        return given
    told = kubeconfig.cluster
    filled = msgspec.structs.replace(
        told,
        server=told.server or f"https://{cluster.spec.control_plane_endpoint}",
        certificate_authority_data=told.certificate_authority_data
        or base64.b64encode(authority.pair.certificate).decode(),
    )
    return msgspec.structs.replace(given, kube_config=msgspec.structs.replace(kubeconfig, cluster=filled))
