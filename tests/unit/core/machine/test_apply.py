"""What a plan sends to the API."""

from __future__ import annotations

import pytest

from nagaya.api.cluster.machine import FINALIZER, MACHINES
from nagaya.api.cluster.machine_set import MACHINE_SETS
from nagaya.core.machine.apply import apply
from nagaya.core.machine.plan import plan
from nagaya.kube.api import Api
from nagaya.kube.cache.cache import Cache
from nagaya.kube.client import Client
from nagaya.kube.errors import Conflict
from support.builders import NAMESPACE, machine, machine_set
from support.machine_seen import seen
from support.transports import Scripted, refuses
from support.virtual_run import virtual_world


async def test_a_finalizer_is_not_added_to_a_machine_that_has_changed_since_it_was_read() -> None:
    transport = Scripted(refuses(409, "Conflict", "the object has been modified"))
    world = virtual_world()
    client = Client(transport, world=world)
    owned = machine().owned_by(machine_set().made(), MACHINE_SETS, controller=True)
    view = seen(owned.having(metadata={"finalizers": ["theirs"], "resourceVersion": "41"}))
    with pytest.raises(Conflict):
        await apply(Api(client, Cache(client, world), "nagaya"), view, plan(view))
    (call,) = transport.calls
    assert (call.method, call.path) == ("PATCH", MACHINES.path(NAMESPACE, "a"))
    assert transport.body == {"metadata": {"finalizers": ["theirs", FINALIZER], "resourceVersion": "41"}}
