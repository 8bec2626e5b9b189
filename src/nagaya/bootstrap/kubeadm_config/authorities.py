"""The authorities of a cluster as boot data needs them.

Where a control plane provider looks after the cluster it makes them, and they are waited for. Where machines of the
control plane are made by hand, the first of them makes them.
"""

from __future__ import annotations

from collections.abc import Mapping

from nagaya.api.bootstrap.kubeadm_config import KUBEADM_CONFIGS
from nagaya.api.cluster.secrets import Purpose
from nagaya.bootstrap.kubeadm_config.seen import Seen
from nagaya.clusters import owners
from nagaya.clusters.certificates.apply import apply
from nagaya.clusters.certificates.held import Held
from nagaya.clusters.certificates.key_maker import Keys
from nagaya.clusters.certificates.plan import Verdict, plan
from nagaya.clusters.certificates.reader import SecretReader
from nagaya.clusters.certificates.seen import AuthoritiesSeen, observe, observe_trust
from nagaya.clusters.certificates.wanted import Wanted
from nagaya.kube.api import Api
from nagaya.kube.runtime import Runtime

Found = Mapping[Purpose, Held]


class NoAuthorities(Exception):
    """They are not there, or cannot be used; the message says what to do. They may come."""


class Authorities:
    """Reads them, and makes them if that is nobody else's work."""

    def __init__(self, rt: Runtime, api: Api, reader: SecretReader, keys: Keys) -> None:
        self._rt = rt
        self._api = api
        self._reader = reader
        self._keys = keys

    async def for_first(self, seen: Seen) -> Found:
        """All of them, for the machine that starts the cluster. Raises NoAuthorities."""
        wanted = Wanted.of(seen.config.spec.cluster_configuration)
        found = await observe(self._reader, seen.cluster_key, wanted)
        maker = owners.controller(KUBEADM_CONFIGS, seen.config)
        by_hand = seen.cluster.spec.control_plane_ref is None
        planned = plan(found, initialized=False, maker=maker if by_hand else None, control_plane=False)
        if planned.verdict is Verdict.MAKE:
            clock = self._rt.world.clock
            found = await apply(self._api, self._reader, self._keys, found, planned, maker, clock)
            planned = plan(found, initialized=False, maker=None, control_plane=False)
        return _all(found, planned.sentence)

    async def for_joining(self, seen: Seen) -> Found:
        """All of them for a machine of the control plane; for others only what it takes to recognise the cluster.
        Raises NoAuthorities."""
        if not seen.owner.control_plane:
            found = await observe_trust(self._reader, seen.cluster_key)
        else:
            wanted = Wanted.of(seen.config.spec.cluster_configuration)
            found = await observe(self._reader, seen.cluster_key, wanted)
        return _all(found, plan(found, initialized=True, maker=None).sentence)


def _all(found: AuthoritiesSeen, problem: str) -> Found:
    if not found.complete:
        raise NoAuthorities(problem)
    return {purpose: held for purpose, held in found.secrets.items() if held is not None}
