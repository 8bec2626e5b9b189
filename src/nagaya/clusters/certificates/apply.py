"""The calls that plans for authorities and kubeconfigs need, in order. Any of them may be the last.

Whoever is first to create a Secret wins: AlreadyExists means that theirs counts. What was made is remembered by the
reader, so that looking again costs nothing.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

import msgspec

from nagaya.api.cluster.secrets import TYPE, Purpose, new_secret
from nagaya.api.meta import OwnerReference
from nagaya.clusters.certificates.held import ClusterSecret, Held
from nagaya.clusters.certificates.key_maker import Keys
from nagaya.clusters.certificates.kubeconfig import administrator_kubeconfig, trusted
from nagaya.clusters.certificates.kubeconfig_plan import KubeconfigPlan, KubeconfigSeen
from nagaya.clusters.certificates.plan import Plan
from nagaya.clusters.certificates.reader import SecretReader
from nagaya.clusters.certificates.seen import AuthoritiesSeen
from nagaya.clusters.certificates.wanted import Wanted
from nagaya.clusters.owners import Owners
from nagaya.kube.api import Api
from nagaya.kube.errors import AlreadyExists, NotFound
from nagaya.kube.tenant_secrets import TENANT_SECRETS, VALUE, TenantSecret
from nagaya.pki.certificates import PAST
from nagaya.pki.key_pair import KeyPair
from nagaya.pki.keys import KeyAlgorithm
from nagaya.pki.kubeadm import authorities
from nagaya.pki.kubeadm.inputs import Inputs
from nagaya.pki.kubeadm.issuing import new_authority
from nagaya.pki.secret_data import CERTIFICATE, KEY
from nagaya.world import Clock

log = logging.getLogger(__name__)

_ENTRIES: Final = {
    Purpose.CLUSTER_AUTHORITY: authorities.CLUSTER,
    Purpose.FRONT_PROXY_AUTHORITY: authorities.FRONT_PROXY,
    Purpose.ETCD_AUTHORITY: authorities.ETCD,
}


async def apply(
    api: Api, reader: SecretReader, keys: Keys, seen: AuthoritiesSeen, plan: Plan, owner: OwnerReference, clock: Clock
) -> AuthoritiesSeen:
    """Make and adopt what a plan says. Returns what is there afterwards, of which some may be others' and unusable."""
    secrets = dict(seen.secrets)
    for adoption in plan.adopt:
        await _own(api, adoption.secret, adoption.owners)
    pairs = await asyncio.gather(*(_new_pair(keys, purpose, seen.wanted, clock) for purpose in plan.make))
    for purpose, pair in zip(plan.make, pairs, strict=True):
        secrets[purpose] = await _create(api, reader, seen, purpose, pair, owner)
    return AuthoritiesSeen(seen.cluster, seen.wanted, secrets)


async def apply_kubeconfig(
    api: Api,
    keys: Keys,
    seen: KubeconfigSeen,
    plan: KubeconfigPlan,
    owner: OwnerReference,
    clock: Clock,
    algorithm: KeyAlgorithm = KeyAlgorithm.RSA_2048,
) -> None:
    """Write or adopt a kubeconfig as a plan says."""
    if not plan.write or seen.authority is None:
        if plan.owners is not None and seen.secret is not None:
            await _own(api, seen.secret, plan.owners)
        return
    log.info("cluster %s: makes a kubeconfig. %s", seen.cluster, plan.sentence)
    key = await keys.key(algorithm)
    authority = seen.authority
    value = administrator_kubeconfig(seen.cluster.name, seen.endpoint, authority.signer, key, clock, trusted(authority))
    content = new_secret(*seen.cluster, Purpose.KUBECONFIG, {VALUE: value}, owner)
    if seen.secret is None:
        try:
            await api.create(TENANT_SECRETS, content)
        except AlreadyExists:
            log.info("cluster %s: somebody else was first to make a kubeconfig", seen.cluster)
        return
    change: dict[str, object] = {"data": content["data"]}
    if plan.owners is not None:
        change["metadata"] = {"ownerReferences": msgspec.to_builtins(plan.owners)}
    await api.merge(TENANT_SECRETS, TenantSecret(metadata=seen.secret.metadata), change, locked=True)


async def _new_pair(keys: Keys, purpose: Purpose, wanted: Wanted, clock: Clock) -> KeyPair:
    key = await keys.key(wanted.algorithm)
    if purpose is Purpose.SERVICE_ACCOUNTS:
        return KeyPair.of_service_accounts(key)
    made = new_authority(_ENTRIES[purpose], Inputs(authority_validity=wanted.validity), key, clock, PAST)
    return KeyPair.of(made.certificate, made.key)


async def _create(
    api: Api, reader: SecretReader, seen: AuthoritiesSeen, purpose: Purpose, pair: KeyPair, owner: OwnerReference
) -> Held | None:
    material = seen.wanted.materials[purpose]
    content = new_secret(*seen.cluster, purpose, {CERTIFICATE: pair.certificate, KEY: pair.key}, owner)
    try:
        made = await api.create(TENANT_SECRETS, content)
    except AlreadyExists:
        log.info("cluster %s: somebody else was first to make Secret %s", seen.cluster, content["metadata"]["name"])
        return await reader.read(seen.cluster, purpose, material)
    log.info("cluster %s: made Secret %s", seen.cluster, made.metadata.name)
    return reader.learn(ClusterSecret(metadata=made.metadata, type=TYPE, data=made.data), purpose, material)


async def _own(api: Api, secret: Held, owners: Owners) -> None:
    metadata = secret.metadata
    log.info("Secret %s/%s: gets another owner", metadata.namespace, metadata.name)
    try:
        await api.metadata(TENANT_SECRETS, TenantSecret(metadata=metadata), owners=owners)
    except NotFound as error:
        log.debug("%s", error)  # what is gone needs no owner; the event about it is on its way
