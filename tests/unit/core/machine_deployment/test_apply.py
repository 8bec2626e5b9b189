"""What comes of plans that the API refuses."""

from __future__ import annotations

import pytest

from nagaya.api.cluster.machine_set import MACHINE_SETS
from nagaya.core.machine_deployment.applied import Applied
from nagaya.core.machine_deployment.apply import apply
from nagaya.core.machine_deployment.plan import Plan
from nagaya.core.machine_deployment.seen import Seen
from nagaya.kube.api import Api
from nagaya.kube.cache.cache import Cache
from nagaya.kube.client import Client
from nagaya.kube.errors import Forbidden
from nagaya.kube.recorder import EVENTS, Recorder
from support.builders import NAMESPACE, NOW, cluster, machine_deployment, machine_set
from support.transports import Scripted, refuses, says
from support.virtual_run import virtual_world


async def test_a_refused_deletion_is_recorded() -> None:
    transport = Scripted(refuses(403, "Forbidden", "not in this harbour"), says(201, {"metadata": {"name": "event"}}))
    world = virtual_world()
    client = Client(transport, world=world)
    recorder = Recorder(client, world)
    deployment, old = machine_deployment("workers").made(), machine_set("old").made()
    view = Seen(deployment, cluster().made(), NOW, (old,))
    with pytest.raises(Forbidden, match="not in this harbour"):
        await apply(
            Api(client, Cache(client, world), "nagaya"), recorder, Applied(), view, Plan("Clean up.", delete=(old,))
        )
    await recorder.flush()
    assert [(call.method, call.path) for call in transport.calls] == [
        ("DELETE", MACHINE_SETS.path(NAMESPACE, "old")),
        ("POST", EVENTS.path(NAMESPACE)),
    ]
    event = transport.body
    assert (event["type"], event["reason"], event["action"]) == ("Warning", "FailedDelete", "Delete")
    assert (event["regarding"]["kind"], event["regarding"]["name"]) == ("MachineDeployment", "workers")
    assert event["note"].startswith('Failed to delete MachineSet "old": ')
    assert "not in this harbour" in event["note"]
