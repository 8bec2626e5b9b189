"""Doing what was planned for a KubeadmConfig.

Any call may be the last of this process. The order makes that harmless: a token is written into the config before the
tenant learns of it, the Secret with the data is made before the status names it, and each step finds what an earlier
attempt has left.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from dataclasses import replace
from typing import Any, Final

import msgspec

from nagaya.api.bootstrap import annotations as annotation
from nagaya.api.bootstrap.kubeadm_config import KUBEADM_CONFIGS, KubeadmConfig
from nagaya.api.bootstrap.kubeadm_config_spec import CLOUD_CONFIG, IGNITION
from nagaya.api.cluster import labels
from nagaya.api.cluster.secrets import TYPE, Purpose
from nagaya.bootstrap.certificate_files import ControlPlaneCertificates
from nagaya.bootstrap.data import BootstrapData, FirstControlPlane, FurtherControlPlane, Worker, render
from nagaya.bootstrap.installation.choice import requested
from nagaya.bootstrap.kubeadm_config import authorities, discovery
from nagaya.bootstrap.kubeadm_config.cluster_facts import cluster_facts
from nagaya.bootstrap.kubeadm_config.contents import Contents
from nagaya.bootstrap.kubeadm_config.init_lock import InitLock
from nagaya.bootstrap.kubeadm_config.plan import Step
from nagaya.bootstrap.kubeadm_config.seen import Seen
from nagaya.bootstrap.kubeadm_config.status import CERTIFICATES_THERE, Outcome
from nagaya.bootstrap.kubeadm_config.tokens import CHECK_INTERVAL, REFRESH_BELOW, ROTATE_BELOW, Token, Tokens
from nagaya.bootstrap.kubeadm_config.virtual_ip import virtual_ip
from nagaya.bootstrap.preparation import Preparation
from nagaya.clusters import owners
from nagaya.clusters.certificates.key_maker import Keys
from nagaya.clusters.certificates.reader import SecretReader
from nagaya.kube.errors import AlreadyExists
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime
from nagaya.kube.tenant_secrets import TENANT_SECRETS
from nagaya.pki.key_pair import KeyPair

log = logging.getLogger(__name__)

MANAGER: Final = "nagaya-kubeadmconfig"
TENANT_TIMEOUT: Final = 10.0
"""How long the calls to a tenant may take for one look at a config, in seconds."""
LOCK_RETRY: Final = 30.0
"""How soon a machine asks again whether it may start the cluster, in seconds: nobody tells that a lock became free."""
_CHECK: Final = CHECK_INTERVAL.total_seconds()


class Apply:
    """What can be done for configs."""

    def __init__(self, rt: Runtime, reader: SecretReader, keys: Keys) -> None:
        self._rt = rt
        self._api = rt.api(MANAGER)
        self._lock = InitLock(rt)
        self._authorities = authorities.Authorities(rt, self._api, reader, keys)

    async def run(self, seen: Seen, step: Step) -> Outcome:
        """Do one step. Raises Refused, NotThere, NoAuthorities, and what servers refuse."""
        await self._own_data(seen)
        match step:
            case Step.RESTORE:
                return Outcome(seen.owner.data_secret_name)
            case Step.INIT:
                return await self._init(seen)
            case Step.JOIN:
                return await self._join(seen)
            case Step.PROLONG:
                return await self._prolong(seen)
            case Step.ROTATE:
                return await self._rotate(seen)
            case Step.REVOKE:
                return await self._revoke(seen)
        return Outcome()

    async def _own_data(self, seen: Seen) -> None:
        """Have the Secret with the data go with the config, also after a move."""
        if seen.data is None or seen.config.metadata.deleting:
            return
        metadata = seen.data.metadata
        wanted = owners.with_owner(metadata.owner_references, owners.controller(KUBEADM_CONFIGS, seen.config))
        if wanted is metadata.owner_references:
            return
        other = metadata.controller
        if other is not None and other.kind != KUBEADM_CONFIGS.kind:
            raise ValueError(
                f"Secret {metadata.namespace}/{metadata.name} would hold the boot data of KubeadmConfig "
                f"{seen.config.metadata.name}, but it belongs to {other.kind} {other.name}. Rename one of them."
            )
        await self._api.metadata(TENANT_SECRETS, seen.data, owners=wanted)

    async def _init(self, seen: Seen) -> Outcome:
        """Let the machine start the cluster, if no other does."""
        holder = await self._lock.acquire(seen.cluster, seen.owner.name)
        if holder != seen.owner.name:
            waits = f"Waiting for Machine {holder} to initialize" if holder else "Waiting for the init lock"
            return Outcome(waits=waits, requeue_after=LOCK_RETRY)
        try:
            return await self._start(seen)
        except Exception:
            # Another machine may be able to, and this one will be asked again.
            await self._lock.release(seen.cluster, seen.owner.name)
            raise

    async def _start(self, seen: Seen) -> Outcome:
        spec = seen.config.spec
        found = await self._authorities.for_first(seen)
        facts = cluster_facts(seen.cluster)
        configuration = spec.cluster_configuration
        if not configuration.control_plane_endpoint and facts.control_plane_endpoint:
            change = {"spec": {"clusterConfiguration": {"controlPlaneEndpoint": facts.control_plane_endpoint}}}
            config = await self._api.merge(KUBEADM_CONFIGS, seen.config, change)
            configuration = config.spec.cluster_configuration
        data = FirstControlPlane(
            await self._preparation(seen),
            facts,
            configuration,
            spec.init_configuration,
            _certificates(found),
            await virtual_ip(self._rt, seen.cluster),
        )
        return await self._store(seen, data)

    async def _join(self, seen: Seen) -> Outcome:
        await self._lock.release(seen.cluster)
        found = await self._authorities.for_joining(seen)
        authority = found[Purpose.CLUSTER_AUTHORITY]
        preparation = await self._preparation(seen)
        join = discovery.completed(seen.config, seen.cluster, authority, control_plane=seen.owner.control_plane)
        made = discovery.uses_token(seen.config) and not join.discovery.bootstrap_token.token
        if made:
            join = discovery.with_token(join, Token.new())
        change = discovery.change(seen.config.spec.join_configuration, join)
        if change is not None:
            if made:
                change["metadata"] = {"annotations": {annotation.TOKEN_MADE: "true"}}
            # Locked: two who write at a time would make two tokens, of which one would never be looked after.
            await self._api.merge(KUBEADM_CONFIGS, seen.config, change, locked=True)
        if discovery.uses_token(seen.config):
            token = Token.read(join.discovery.bootstrap_token.token)
            async with asyncio.timeout(TENANT_TIMEOUT):
                await self._tokens(seen).ensure(token)
        data: BootstrapData = Worker(preparation, join)
        if seen.owner.control_plane:
            configuration = seen.config.spec.cluster_configuration
            address = await virtual_ip(self._rt, seen.cluster)
            data = FurtherControlPlane(preparation, configuration, join, _certificates(found), address)
        return await self._store(seen, data, requeue_after=_CHECK)

    async def _preparation(self, seen: Seen) -> Preparation:
        contents = Contents(self._rt.client, seen.config.metadata.namespace)
        spec = seen.config.spec
        return Preparation.of(
            spec,
            seen.owner.version,
            files=await contents.files(spec.files, seen.control_plane_version),
            users=await contents.users(spec.users),
            installation=requested(seen.config.metadata.annotations),
            kubelet=seen.kubelet if spec.format != IGNITION else seen.kubelet.without_templates(),
        )

    async def _store(self, seen: Seen, data: BootstrapData, requeue_after: float | None = None) -> Outcome:
        content = _secret(seen.config, seen.cluster.metadata.name, render(data))
        name = content["metadata"]["name"]
        try:
            await self._api.create(TENANT_SECRETS, content)
            log.info("KubeadmConfig %s: made the boot data of %s", Key.of(seen.config), seen.owner.name)
        except AlreadyExists:
            # Of an attempt that did not come to its end. No machine has it yet, since the status does not name it.
            found = await self._rt.client.get(TENANT_SECRETS, seen.config.metadata.namespace, name)
            await self._api.merge(TENANT_SECRETS, found, {"data": content["data"]}, locked=True)
        return Outcome(name, CERTIFICATES_THERE, requeue_after=requeue_after)

    async def _prolong(self, seen: Seen) -> Outcome:
        token = _token(seen)
        tokens = self._tokens(seen)
        async with asyncio.timeout(TENANT_TIMEOUT):
            left = await tokens.remaining(token)
            if left is None:
                # Expired while nobody could look after it. The machine may still come with it.
                await tokens.ensure(token)
            elif left <= REFRESH_BELOW:
                log.info("KubeadmConfig %s: %r lives on until its machine has joined", Key.of(seen.config), token)
                await tokens.prolong(token)
        return Outcome(requeue_after=_CHECK)

    async def _rotate(self, seen: Seen) -> Outcome:
        """Give the machines of a pool that are still to come a fresh token in time."""
        async with asyncio.timeout(TENANT_TIMEOUT):
            left = await self._tokens(seen).remaining(_token(seen))
        if left is not None and left >= ROTATE_BELOW:
            return Outcome(requeue_after=_CHECK)
        change: dict[str, Any] = {"spec": {"joinConfiguration": {"discovery": {"bootstrapToken": {"token": None}}}}}
        config = await self._api.merge(KUBEADM_CONFIGS, seen.config, change, locked=True)
        return await self._join(replace(seen, config=config))

    async def _revoke(self, seen: Seen) -> Outcome:
        token = _token(seen)
        async with asyncio.timeout(TENANT_TIMEOUT):
            await self._tokens(seen).revoke(token)
        change: dict[str, Any] = {
            "metadata": {"annotations": {annotation.TOKEN_MADE: None}},
            "spec": {"joinConfiguration": {"discovery": {"bootstrapToken": {"token": None}}}},
        }
        await self._api.merge(KUBEADM_CONFIGS, seen.config, change, locked=True)
        log.info("KubeadmConfig %s: %r is revoked, its machine has joined", Key.of(seen.config), token)
        return Outcome()

    def _tokens(self, seen: Seen) -> Tokens:
        remote = self._rt.remotes.get(seen.cluster_key)
        if remote is None:
            raise ConnectionError(f"Cluster {seen.cluster_key} cannot be reached any more: {seen.problem}")
        return Tokens(remote.client, seen.now)


def _token(seen: Seen) -> Token:
    return Token.read(seen.config.spec.join_configuration.discovery.bootstrap_token.token)


def _certificates(found: authorities.Found) -> ControlPlaneCertificates:
    def pair(purpose: Purpose) -> KeyPair | None:
        held = found.get(purpose)
        return None if held is None else held.pair

    return ControlPlaneCertificates(
        pair(Purpose.CLUSTER_AUTHORITY),
        pair(Purpose.ETCD_AUTHORITY),
        pair(Purpose.FRONT_PROXY_AUTHORITY),
        pair(Purpose.SERVICE_ACCOUNTS),
        pair(Purpose.API_SERVER_ETCD_CLIENT),
    )


def _secret(config: KubeadmConfig, cluster: str, data: bytes) -> dict[str, Any]:
    entries = {"value": data, "format": (config.spec.format or CLOUD_CONFIG).encode()}
    return {
        "metadata": {
            "name": config.metadata.name,
            "namespace": config.metadata.namespace,
            "labels": {labels.CLUSTER_NAME: cluster},
            "ownerReferences": [msgspec.to_builtins(owners.controller(KUBEADM_CONFIGS, config))],
        },
        "type": TYPE,
        "data": {name: base64.b64encode(value).decode() for name, value in entries.items()},
    }
