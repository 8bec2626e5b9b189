"""From what is seen of a control plane to what its objects and certificates depend on. Pure."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from nagaya.api.cluster.secrets import TYPE
from nagaya.controlplane.hosted.components.facts import Store, TenantFacts
from nagaya.controlplane.hosted.components.network import network_of
from nagaya.controlplane.hosted.data_store.tenant_store import TenantStore
from nagaya.controlplane.hosted.host.certificates import Authorities
from nagaya.controlplane.hosted.kubernetes import kinds, names
from nagaya.controlplane.hosted.kubernetes.kinds import Planned
from nagaya.controlplane.hosted.kubernetes.metadata import metadata as metadata_of
from nagaya.controlplane.hosted.kubernetes.tenancy import FOLDERS, Tenancy, facts_in_pod, store_in_pod
from nagaya.controlplane.hosted.pods.certificates import ProgramFiles
from nagaya.controlplane.hosted.pods.known import FilesFor
from nagaya.controlplane.hosted.pods.seen import Seen
from nagaya.pki.keys import KeyAlgorithm
from nagaya.pki.kubeadm import identities
from nagaya.pki.kubeadm.inputs import Inputs

DATA_STORE: Final = "data-store"
_NO_STORE: Final = store_in_pod((), "")
_SOCKET: Final = f"{FOLDERS.sockets}/kine.sock"


def bare(seen: Seen) -> Tenancy:
    """Enough for the objects that need no files."""
    return _tenancy(seen, facts(seen, _NO_STORE), {})


def whole(seen: Seen, store: TenantStore, files: ProgramFiles) -> Tenancy:
    """Everything."""
    of_store = store.facts(FOLDERS.pki, _SOCKET)
    return _tenancy(seen, facts(seen, of_store), {**files.files, **store.files})


def facts(seen: Seen, store: Store) -> TenantFacts:
    """What programs are told, in the version that it is their turn to have."""
    network = network_of(seen.plane.spec.network, seen.cluster.spec.cluster_network)
    found = facts_in_pod(
        seen.plane,
        seen.cluster.metadata.name,
        network,
        store,
        advertise_address=seen.reached.advertised,
        port=seen.port,
    )
    return replace(found, version=seen.target.version)


def files_for(seen: Seen, given: Authorities) -> FilesFor:
    """What the files of programs depend on. The API's certificate is good for every way to it."""
    plane, metadata = seen.plane, seen.plane.metadata
    network = network_of(plane.spec.network, seen.cluster.spec.cluster_network)
    own = (*names.server_names(metadata.name, metadata.namespace), *plane.spec.network.cert_sans)
    inputs = Inputs(
        cluster_name=seen.cluster.metadata.name,
        service_cidrs=network.service_cidrs,
        dns_domain=network.dns_domain,
        endpoint_host=seen.reached.endpoint.host,
        advertise_address=seen.reached.advertised,
        api_server_sans=tuple(dict.fromkeys(own)),
        algorithm=KeyAlgorithm.ECDSA_P256,
        leaf_validity=seen.settings.leaf_validity,
    )
    inside = names.internal_url(metadata.name, metadata.namespace, seen.port)
    servers = [(identities.CONTROLLER_MANAGER, inside), (identities.SCHEDULER, inside)]
    if seen.tunnelled:
        servers.append((identities.KONNECTIVITY_SERVER, f"https://localhost:{seen.port}"))
    return FilesFor(given, inputs, tuple(servers))


def credentials(seen: Seen, kept: Mapping[str, bytes]) -> Planned:
    """The Secret in which what a tenant has for its data store is kept: it is handed in again at the next life."""
    encoded = {name: base64.b64encode(content).decode() for name, content in kept.items()}
    body = {**metadata_of(bare(seen), DATA_STORE), "type": TYPE, "data": encoded}
    plane = seen.plane.metadata
    return Planned(kinds.SECRETS, plane.namespace, names.object_name(plane.name, DATA_STORE), body)


def kept_credentials(seen: Seen) -> dict[str, bytes]:
    """What that Secret holds."""
    secret = seen.objects.get(str(credentials(seen, {})))
    data = {} if secret is None else secret.raw.get("data") or {}
    return {name: base64.b64decode(value) for name, value in data.items()}


def _tenancy(seen: Seen, told: TenantFacts, files: dict[str, bytes]) -> Tenancy:
    metadata = seen.plane.metadata
    return Tenancy(
        metadata.name,
        metadata.namespace,
        seen.owner,
        told,
        files,
        seen.encryption,
        seen.settings.management_cidrs or (),
    )
