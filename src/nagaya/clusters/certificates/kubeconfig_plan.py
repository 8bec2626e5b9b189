"""What to do about the kubeconfig of a cluster: made once the API has an address, renewed in time, else left alone.

Only a kubeconfig that the control plane manages is ever written. One of another type is a user's, and may say anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.api.cluster.secrets import Purpose, secret_name
from nagaya.api.meta import OwnerReference
from nagaya.clusters.certificates.adoption import adopted, manages
from nagaya.clusters.certificates.held import Held
from nagaya.clusters.certificates.kubeconfig import ADMINISTRATOR, Content, read, server_url
from nagaya.clusters.owners import Owners
from nagaya.kube.key import Key
from nagaya.pki.renewal import issuer_of, renewal, renewal_time

SHARE: Final = 1 / 2
"""How much of its life a client certificate has left when it is renewed: people hold copies, and need time to get a new
one."""


@dataclass(frozen=True, slots=True)
class KubeconfigSeen:
    """What a decision about a kubeconfig depends on."""

    cluster: Key
    endpoint: Endpoint
    authority: Held | None
    """The cluster's authority; None if there is none that can be used."""
    secret: Held | None
    """The Secret with the kubeconfig; None if there is none."""
    now: datetime


@dataclass(frozen=True, slots=True)
class KubeconfigPlan:
    """What to do, and what to say."""

    write: bool = False
    """Whether a new kubeconfig is made, in a new Secret or in the one that is there."""
    owners: Owners | None = None
    """The owners that the Secret shall have, if they change."""
    sentence: str = ""
    """Why it is written, or what keeps it from being made; empty if all is well."""
    blocked: bool = False
    """Whether it should be written and cannot be."""
    look_again: datetime | None = None
    """When it is to be renewed."""


def plan_kubeconfig(seen: KubeconfigSeen, control_plane: OwnerReference) -> KubeconfigPlan:
    """What to do. `control_plane` is the owner that manages the Secret."""
    if not seen.endpoint.valid:
        return KubeconfigPlan(sentence="The control plane has no endpoint yet.")
    secret = seen.secret
    if secret is None:
        return _written(seen, None, f"Cluster {seen.cluster} has no kubeconfig.")
    before = secret.metadata.owner_references
    after = adopted(secret.type, before, control_plane)
    owners = None if after is before else after
    if not manages(control_plane, after):
        return KubeconfigPlan(owners=owners)
    if seen.authority is None:
        return KubeconfigPlan(owners=owners)
    try:
        content = read(secret.kubeconfig)
    except ValueError as error:
        return _written(seen, owners, f"Secret {_name(seen, Purpose.KUBECONFIG)}: {error}.")
    if reason := _stale(seen, seen.authority, content):
        return _written(seen, owners, reason)
    return KubeconfigPlan(owners=owners, look_again=_due(seen.authority, content))


def _stale(seen: KubeconfigSeen, authority: Held, content: Content) -> str:
    """Why a kubeconfig is not as it shall be; nothing if it is."""
    if content.server != server_url(seen.endpoint):
        return f"The control plane is at {seen.endpoint} now."
    if content.authorities != authority.certificates:
        return "The cluster's authority has changed."
    due = renewal(content.certificate, content.key.public_key(), ADMINISTRATOR, authority.certificates, seen.now, SHARE)
    return "" if due is None else due.sentence


def _due(authority: Held, content: Content) -> datetime | None:
    issuer = issuer_of(content.certificate, authority.certificates)
    return None if issuer is None else renewal_time(content.certificate, issuer, ADMINISTRATOR, SHARE)


def _written(seen: KubeconfigSeen, owners: Owners | None, reason: str) -> KubeconfigPlan:
    name = _name(seen, Purpose.CLUSTER_AUTHORITY)
    if seen.authority is None:
        return KubeconfigPlan(False, owners, f"{reason} Secret {name} is needed to make one.", blocked=True)
    if not seen.authority.signs:
        return KubeconfigPlan(
            False,
            owners,
            f"{reason} Secret {name} has no tls.key to sign one with. Put the key there, or provide "
            f"Secret {_name(seen, Purpose.KUBECONFIG)} with a kubeconfig under the key value.",
            blocked=True,
        )
    end = seen.authority.certificates[0].not_valid_after_utc
    if end <= seen.now:
        return KubeconfigPlan(
            False, owners, f"{reason} The authority in Secret {name} expired on {end:%Y-%m-%d}.", blocked=True
        )
    return KubeconfigPlan(True, owners, reason)


def _name(seen: KubeconfigSeen, purpose: Purpose) -> str:
    return f"{seen.cluster.namespace}/{secret_name(seen.cluster.name, purpose)}"
