"""Everything that the objects of a control plane depend on, as one value."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from nagaya.api.controlplane.hosted_addons import DEFAULT_KONNECTIVITY_PORT
from nagaya.api.controlplane.hosted_control_plane import HostedControlPlane
from nagaya.api.controlplane.hosted_network import DEFAULT_PORT
from nagaya.api.meta import OwnerReference
from nagaya.controlplane.hosted.components import configuration, needs
from nagaya.controlplane.hosted.components.facts import (
    EtcdStore,
    Folders,
    KineStore,
    LocalPorts,
    ServingFacts,
    Store,
    TenantFacts,
    TunnelFacts,
)
from nagaya.controlplane.hosted.components.network import TenantNetwork

FOLDERS: Final = Folders(kubeconfigs="/etc/kubernetes/kubeconfigs", sockets="/run/nagaya")
"""Where programs find their files in pods."""

DRAIN_SECONDS: Final = 15
"""For how long an API server that is ended goes on: until load balancers and kube-proxies have heard of it."""

_ANY: Final = {4: "0.0.0.0", 6: "::"}  # noqa: S104 - in a pod, whose traffic NetworkPolicies decide about


def store_in_pod(servers: Iterable[str], prefix: str) -> EtcdStore:
    """A part of an etcd, with its certificates where pods have them."""
    file = FOLDERS.certificate
    names = ("etcd/ca.crt", "apiserver-etcd-client.crt", "apiserver-etcd-client.key")
    ca, certificate, key = map(file, names)
    return EtcdStore(tuple(servers), prefix, ca, certificate, key)


def facts_in_pod(
    plane: HostedControlPlane,
    cluster_name: str,
    network: TenantNetwork,
    store: Store,
    *,
    advertise_address: str,
    port: int = DEFAULT_PORT,
) -> TenantFacts:
    """What the programs of a control plane are told when they are pods."""
    anywhere, replicas = _ANY[network.family], plane.spec.replicas if plane.spec.replicas is not None else 1
    tunnel = plane.spec.addons.konnectivity
    return TenantFacts(
        cluster_name=cluster_name,
        version=plane.spec.version,
        serving=ServingFacts(anywhere, advertise_address, port, drain_seconds=DRAIN_SECONDS),
        store=store,
        network=network,
        settings=plane.spec,
        folders=FOLDERS,
        ports=LocalPorts(anywhere),
        tunnel=TunnelFacts(
            f"{FOLDERS.sockets}/konnectivity-server.sock",
            anywhere,
            tunnel.server.port or DEFAULT_KONNECTIVITY_PORT,
            health_bind_address=anywhere,
            servers=max(replicas, 1),
        )
        if tunnel.enabled
        else None,
        replicas=replicas,
    )


@dataclass(frozen=True, slots=True)
class Tenancy:
    """One control plane as its objects need to know it."""

    name: str
    namespace: str
    owner: OwnerReference
    facts: TenantFacts
    files: Mapping[str, bytes] = field(repr=False)
    """Certificates, keys and kubeconfigs, by kubeadm's names below the folder of certificates."""
    encryption: bytes = field(repr=False, default=b"")
    """The EncryptionConfiguration, as it was read from the user's Secret and encoded again."""
    management_cidrs: tuple[str, ...] = ()
    """Addresses of the management cluster's own API, which no tenant shall reach."""

    def needed(self, program: str) -> dict[str, bytes]:
        """The files of a program. Raises ValueError, which names them, if there are some missing."""
        names = needs.needed(self.facts)[program]
        missing = [name for name in names if name not in self.files]
        if missing:
            raise ValueError(f"{program} of {self.namespace}/{self.name} lacks files: {', '.join(missing)}")
        return {name: self.files[name] for name in names}

    def configuration(self) -> dict[str, str]:
        """The configuration files of the API server."""
        return configuration.files(self.facts)

    def files_hash(self, *programs: str) -> str:
        """What changes whenever a file of these programs does, and tells nothing of its content."""
        digest = hashlib.sha256()
        for program in programs:
            for name, content in sorted(self.needed(program).items()):
                digest.update(_framed(program, name, content))
        return digest.hexdigest()

    def settings_hash(self) -> str:
        """What changes whenever a configuration file of the API server does, or a secret of its store."""
        digest = hashlib.sha256()
        for name, content in sorted(self.configuration().items()):
            digest.update(_framed("configuration", name, content.encode()))
        if isinstance(self.facts.store, KineStore):
            digest.update(_framed("kine", "endpoint", self.facts.store.endpoint.encode()))
        encryption = hashlib.sha256(self.encryption).hexdigest() if self.encryption else ""
        digest.update(_framed("encryption", "hash", encryption))
        return digest.hexdigest()


def _framed(*parts: str | bytes) -> bytes:
    """Parts with their lengths, so that no two lists of parts look the same."""
    plain = [part.encode() if isinstance(part, str) else part for part in parts]
    return b"".join(len(part).to_bytes(8, "big") + part for part in plain)
