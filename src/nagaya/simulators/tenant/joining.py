"""Whether a cluster lets a machine join: the part of `kubeadm join` that has to do with trust.

A machine trusts a cluster by the public key of its authority, and a cluster trusts a machine by a bootstrap token that
is known, has not expired, and is for nodes.
"""

from __future__ import annotations

import hashlib
from typing import Final

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from nagaya.apiserver.authn.bootstrap_tokens import NAME_PREFIX, NAMESPACE, BootstrapTokens, has_expired
from nagaya.apiserver.authn.facts import RequestFacts
from nagaya.apiserver.lookups import StoreLookups
from nagaya.apiserver.storage import Store
from nagaya.pki.authority import CertificateAuthority
from nagaya.simulators.tenant.boot_data import KubeadmBoot
from nagaya.world import Clock

NODE_GROUP: Final = "system:bootstrappers:kubeadm:default-node-token"


class JoinRefused(Exception):
    """A machine cannot join, now or later, with what it has. The message is a sentence for people."""


class JoinDelayed(Exception):
    """A machine cannot join at this moment. The message is a sentence for people."""


class Admission:
    """Looks at machines that want to join."""

    def __init__(self, store: Store, authority: CertificateAuthority, clock: Clock) -> None:
        self._lookups = StoreLookups(store)
        self._tokens = BootstrapTokens(self._lookups, clock)
        self._authority = authority
        self._clock = clock

    def check(self, boot: KubeadmBoot) -> None:
        """Raises JoinRefused if a machine and the cluster do not trust each other."""
        if boot.authority_pins and self._pin() not in boot.authority_pins:
            raise JoinRefused(
                "kubeadm join does not trust the cluster: none of the hashes in discovery.bootstrapToken.caCertHashes "
                "is that of the cluster's authority."
            )
        if not boot.token:
            return  # it has a kubeconfig, whose credentials are not looked at here
        known = self._tokens.authenticate_token(boot.token, RequestFacts())
        if known is None:
            raise JoinRefused(f"kubeadm join was refused: {self._why_not(boot.token)}")
        if NODE_GROUP not in known.user.groups:
            raise JoinRefused(f"kubeadm join was refused: {_named(boot.token)} is not in the group {NODE_GROUP}.")

    def _why_not(self, token: str) -> str:
        secret = self._lookups.get_secret(NAMESPACE, NAME_PREFIX + token.partition(".")[0])
        if secret is None:
            return f"{_named(token)} is not known to the cluster, or not any more."
        if has_expired(secret, self._clock):
            return f"{_named(token)} has expired."
        return f"{_named(token)} is not valid."

    def _pin(self) -> str:
        key = self._authority.certificate.public_key()
        return f"sha256:{hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()}"


def _named(token: str) -> str:
    """A token by its public half."""
    return f"the bootstrap token {token.partition('.')[0]}"
