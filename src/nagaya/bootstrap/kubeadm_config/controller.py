"""The KubeadmConfig controller: observe, plan, apply, tell the status.

What always holds: boot data is made once, and only one machine of a cluster is told to start it. Whatever keeps the
data from being made is in the condition DataSecretAvailable, in words.
"""

from __future__ import annotations

import logging
from typing import Final

from nagaya.api.bootstrap.kubeadm_config import KUBEADM_CONFIGS, KubeadmConfig, KubeadmConfigStatus
from nagaya.api.cluster.pause import why_paused
from nagaya.bootstrap.kubeadm_config.apply import MANAGER, Apply
from nagaya.bootstrap.kubeadm_config.authorities import NoAuthorities
from nagaya.bootstrap.kubeadm_config.contents import NotThere
from nagaya.bootstrap.kubeadm_config.plan import Plan, plan
from nagaya.bootstrap.kubeadm_config.seen import Seen, observe, provider_kinds
from nagaya.bootstrap.kubeadm_config.status import CONDITIONS, FIELDS, Outcome, certificates_problem, status
from nagaya.bootstrap.kubeadm_config.tokens import NoToken
from nagaya.bootstrap.kubeadm_config.watches import Configs
from nagaya.bootstrap.refusal import Refused
from nagaya.clusters.certificates.key_maker import Keys
from nagaya.clusters.certificates.reader import SecretReader
from nagaya.clusters.external import listed
from nagaya.clusters.pause import status_while_paused
from nagaya.kube.controller import Controller, Result
from nagaya.kube.errors import ApiError, Conflict
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime
from nagaya.kube.tenant_secrets import follow_secrets
from nagaya.kube.transport import NoAnswer

log = logging.getLogger(__name__)

WORKERS: Final = 50
"""Many, because each may wait for a tenant."""
RETRY: Final = 10.0
"""How soon it is looked again for what a user has to bring, in seconds: nobody tells that it came."""


class KubeadmConfigs:
    """What is done for KubeadmConfigs."""

    def __init__(self, rt: Runtime, reader: SecretReader, keys: Keys) -> None:
        self._rt = rt
        self._api = rt.api(MANAGER)
        self._apply = Apply(rt, reader, keys)
        self._configs = Configs(rt.cache)
        follow_secrets(rt.cache, rt.remotes)
        self.controller = Controller(
            "kubeadmconfig", KUBEADM_CONFIGS, self.reconcile, watches=self._configs.watches, workers=WORKERS
        )
        rt.remotes.subscribe(lambda cluster: self.controller.look_at(self._configs.in_cluster(cluster)))

    async def reconcile(self, key: Key) -> Result | None:
        """Look at one config."""
        config = self._rt.cache.get(KUBEADM_CONFIGS, key)
        seen = None if config is None else await self._see(config)
        if seen is None:
            return None
        if why := why_paused(seen.cluster, seen.config, KUBEADM_CONFIGS.kind):
            await self._tell(seen.config, status_while_paused(seen.config, why, seen.now))
            return None
        planned = plan(seen)
        if planned.tenant:
            self._rt.remotes.want(seen.cluster_key)
        outcome, failure = await self._do(seen, planned)
        newest = self._rt.cache.get(KUBEADM_CONFIGS, key)
        if newest is not None and newest.metadata.uid == seen.config.metadata.uid:
            await self._tell(newest, status(seen, newest, planned, outcome, complete=failure is None))
        if failure is not None:
            raise failure
        return Result(requeue_after=outcome.requeue_after)

    async def _see(self, config: KubeadmConfig) -> Seen | None:
        seen = observe(self._rt, config)
        if seen is None:
            return None
        kinds = provider_kinds(self._rt, seen.cluster)
        if all(map(self._rt.cache.is_synced, kinds)):
            return seen
        await listed(self._rt.cache, kinds)
        return observe(self._rt, config)

    async def _do(self, seen: Seen, planned: Plan) -> tuple[Outcome, Exception | None]:
        """What came of it, and what there is to be tried again soon."""
        try:
            return await self._apply.run(seen, planned.step), None
        except Conflict:
            raise  # somebody else wrote first; what is seen here is old
        except (Refused, NoToken) as error:
            log.error("KubeadmConfig %s: %s", Key.of(seen.config), error)
            return Outcome(waits=str(error)), None
        except NoAuthorities as error:
            return Outcome(certificates=certificates_problem(str(error)), waits=str(error), requeue_after=RETRY), None
        except NotThere as error:
            return Outcome(waits=str(error), requeue_after=RETRY), None
        except (ApiError, NoAnswer, OSError, TimeoutError, ValueError) as error:
            return Outcome(waits=str(error) or f"No answer in time: {type(error).__name__}"), error

    async def _tell(self, config: KubeadmConfig, told: KubeadmConfigStatus) -> None:
        await self._api.status(KUBEADM_CONFIGS, config, told, conditions=CONDITIONS, fields=FIELDS)


def controller(rt: Runtime, reader: SecretReader, keys: Keys) -> Controller:
    """The controller, to be run by a manager."""
    return KubeadmConfigs(rt, reader, keys).controller
