"""What a plan for a pool sends to the API."""

from __future__ import annotations

from nagaya.api.ipam.ip_address_reservation import IP_ADDRESS_RESERVATIONS
from nagaya.ipam.pool.apply import Apply, Outcome
from nagaya.ipam.pool.plan import Plan
from nagaya.ipam.pool.steps import Errand, Forget
from nagaya.kube.cache.cache import Cache
from nagaya.kube.client import Client
from nagaya.kube.contract_kinds import ContractKinds
from nagaya.kube.recorder import Recorder
from nagaya.kube.remote import Remotes
from nagaya.kube.runtime import Runtime
from support.ipam import scene
from support.kube import FakeServer
from support.transports import Scripted, says
from support.virtual_run import run, virtual_world


def test_only_the_very_entry_that_was_read_is_forgotten() -> None:
    async def main() -> None:
        transport = Scripted(says(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"}))
        world = virtual_world()
        client = Client(transport, world=world)
        cache = Cache(FakeServer().client(world), world)
        remotes = Remotes(lambda _: transport, world)
        rt = Runtime(client, cache, ContractKinds(cache), remotes, Recorder(client, world), world)
        here = scene("10.0.0.10").released("10.0.0.10", 3600)
        (entry,) = here.entries
        name = entry.metadata.name
        planned = Plan(errands=(Errand("The entry says nothing of use any more.", (Forget(entry),)),))
        assert await Apply(rt).all(here.seen(), planned) == Outcome()
        (call,) = transport.calls
        assert (call.method, call.path) == ("DELETE", IP_ADDRESS_RESERVATIONS.path("", name))
        assert transport.body["preconditions"] == {"uid": f"{name}-uid", "resourceVersion": "7"}
        await cache.close()

    run(main())
