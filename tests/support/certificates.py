"""Secrets with the authorities of a cluster in tests."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from nagaya.api.cluster.secrets import TYPE, Purpose, secret_name
from nagaya.api.meta import ObjectMeta, OwnerReference
from nagaya.clusters.certificates.held import ClusterSecret, Held, held
from nagaya.clusters.certificates.seen import AuthoritiesSeen
from nagaya.clusters.certificates.wanted import Wanted
from nagaya.kube.key import Key
from nagaya.pki import keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.key_pair import KeyPair
from nagaya.pki.keys import KeyAlgorithm, PrivateKey
from support.standing_clock import StandingClock

HARBOUR = Key("fleet", "harbour")
AUTHORITY = CertificateAuthority.create("kubernetes", StandingClock())
PAIR = KeyPair.of(AUTHORITY.certificate, AUTHORITY.key)
ACCOUNTS = KeyPair.of_service_accounts(keys.generate())
CONTROL_PLANE = OwnerReference(
    api_version="controlplane.cluster.x-k8s.io/v1beta2",
    kind="KubeadmControlPlane",
    name="harbour",
    uid="uid-control-plane",
    controller=True,
    block_owner_deletion=True,
)


class QuickKeys:
    """Makes keys of an elliptic curve, whatever is asked for, and counts them."""

    def __init__(self) -> None:
        self.asked: list[KeyAlgorithm] = []

    async def key(self, algorithm: KeyAlgorithm) -> PrivateKey:
        self.asked.append(algorithm)
        return keys.generate()


def encoded(data: Mapping[str, bytes]) -> dict[str, str]:
    return {name: base64.b64encode(value).decode() for name, value in data.items()}


def secret(
    purpose: Purpose,
    data: Mapping[str, bytes] | None = None,
    *owners: OwnerReference,
    type: str = TYPE,
) -> ClusterSecret:
    """A Secret of the cluster, by default with what belongs there."""
    if data is None:
        pair = ACCOUNTS if purpose is Purpose.SERVICE_ACCOUNTS else PAIR
        data = {"tls.crt": pair.certificate, "tls.key": pair.key}
    metadata = ObjectMeta(
        name=secret_name(HARBOUR.name, purpose),
        namespace=HARBOUR.namespace,
        uid=f"uid-{purpose}",
        resource_version="5",
        owner_references=owners,
    )
    return ClusterSecret(metadata=metadata, type=type, data=encoded(data))


def seen(*secrets: ClusterSecret, wanted: Wanted | None = None) -> AuthoritiesSeen:
    """The authorities of the cluster when these Secrets exist."""
    wanted = wanted or Wanted()
    present = {each.metadata.name: each for each in secrets}
    found: dict[Purpose, Held | None] = {}
    for purpose, material in wanted.materials.items():
        there = present.get(secret_name(HARBOUR.name, purpose))
        found[purpose] = None if there is None else held(there, purpose, material)
    return AuthoritiesSeen(HARBOUR, wanted, found)
