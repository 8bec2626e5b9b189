"""What every controller is given: one value instead of seven parameters."""

from __future__ import annotations

from dataclasses import dataclass

from nagaya.kube.api import Api
from nagaya.kube.cache.cache import Cache
from nagaya.kube.client import Client
from nagaya.kube.contract_kinds import ContractKinds
from nagaya.kube.recorder import Recorder
from nagaya.kube.remote import Remotes
from nagaya.world import World


@dataclass(frozen=True, slots=True)
class Runtime:
    """The management API as controllers see it, the tenants behind it, and time."""

    client: Client
    cache: Cache
    kinds: ContractKinds
    remotes: Remotes
    recorder: Recorder
    world: World

    def api(self, manager: str) -> Api:
        """What a controller writes through; `manager` is its name in managedFields."""
        return Api(self.client, self.cache, manager)
