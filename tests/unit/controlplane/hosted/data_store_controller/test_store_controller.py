"""When a store that Nagaya starts itself is handed to control planes."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from nagaya.api.controlplane.data_store import DATA_STORES, FINALIZER
from nagaya.api.controlplane.data_store_conditions import DataStoreReason
from nagaya.controlplane.hosted.data_store.driver import Health
from nagaya.controlplane.hosted.data_store.managed_etcd import ManagedEtcd
from nagaya.controlplane.hosted.data_store_controller.controller import ASK, ASK_SOON, DataStores
from nagaya.controlplane.hosted.data_store_controller.stores import Stores
from nagaya.controlplane.hosted.host.ownership import Claim, Standing
from nagaya.controlplane.hosted.host.programs import Programs
from nagaya.controlplane.hosted.host.settings import USERS
from nagaya.controlplane.hosted.host.users import Users
from nagaya.kube.cache.cache import Cache
from nagaya.kube.contract_kinds import ContractKinds
from nagaya.kube.controller import Result
from nagaya.kube.key import Key
from nagaya.kube.recorder import Recorder
from nagaya.kube.remote import Remotes
from nagaya.kube.runtime import Runtime
from nagaya.supervision.spec import ProcessSpec
from nagaya.supervision.status import ProcessStatus, State
from nagaya.world import World
from support.kube import FakeServer
from support.standing_clock import StandingClock

STORES, PLANES = (
    "apis/controlplane.cluster.x-k8s.io/v1alpha1/datastores",
    "apis/controlplane.cluster.x-k8s.io/v1alpha1/hostedcontrolplanes",
)
UID = "9f1c2d3e-0000-4000-8000-000000000002"


class Machine:
    """A host on which etcd is as a test says."""

    def __init__(self, folder: Path, state: State | None, reason: str) -> None:
        self.settings = SimpleNamespace(folder=folder)
        self.store_folder = folder.joinpath
        self.users = Users(folder, USERS, enabled=False)
        self.close = self.subscribe = lambda *_: None
        self._state, self._reason = state, reason
        self.asked_to_run: list[str] = []

    async def start(self) -> None:
        """It is there."""

    def claim(self, *_: object) -> Claim:
        return Claim(Standing.NEW)

    def programs(self, *_: object) -> Programs:
        return Programs({"etcd": Path("/bin/etcd")})

    async def run(self, spec: ProcessSpec) -> None:
        self.asked_to_run.append(spec.name)

    def status(self, name: str) -> ProcessStatus | None:
        return None if self._state is None else ProcessStatus(name, self._state, 1, 0, "", self._reason)

    def last_words(self, name: str) -> str:
        return "no space left on device"


class Etcd:
    """Answers as soon as anybody asks."""

    async def probe(self) -> Health:
        return Health(DataStoreReason.READY, "etcd answers.", "3.6.8")


@pytest.mark.parametrize(
    ("state", "reason", "message"),
    [
        pytest.param(None, "", "etcd is being started.", id="unknown"),
        pytest.param(State.STARTING, "", "etcd is being started.", id="starting"),
        pytest.param(
            State.WAITING,
            "process 7 ended with code 1",
            "etcd is being started. process 7 ended with code 1 no space left on device",
            id="does not stay",
        ),
        pytest.param(State.STOPPED, "it was stopped", "etcd is being started. it was stopped", id="stopped"),
        pytest.param(State.READY, "", "etcd answers.", id="ready"),
    ],
)
async def test_a_store_is_used_once_its_process_is_ready_and_says_before_what_it_waits_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: State | None, reason: str, message: str
) -> None:
    etcd = Etcd()
    monkeypatch.setattr(ManagedEtcd, "driver", lambda _: etcd)
    server, world = FakeServer(), World(StandingClock(), random.Random(1))
    server.put(PLANES, "default", "one", spec={"version": "v1.36.3"})
    metadata = {"uid": UID, "finalizers": [FINALIZER]}
    server.put(STORES, "", "default", metadata=metadata, spec={"driver": "etcd", "managed": True})
    client = server.client(world)
    cache, stores, machine = Cache(client, world), Stores(), Machine(tmp_path, state, reason)
    remotes, recorder = Remotes(lambda _: cast(Any, None), world), Recorder(client, world)
    rt = Runtime(client, cache, ContractKinds(cache), remotes, recorder, world)
    looking = DataStores(rt, cast(Any, machine), stores)
    await cache.synced()

    result = await looking.reconcile(Key("", "default"))

    await cache.close()
    is_ready = state is State.READY
    assert result == Result(ASK if is_ready else ASK_SOON)
    assert machine.asked_to_run == [f"{UID}.etcd"]
    handed: object = stores.get(UID)
    assert handed is (etcd if is_ready else None)
    status = DATA_STORES.convert(server.objects[STORES, "", "default"]).status
    [ready] = [condition for condition in status.conditions if condition.type == "Ready"]
    assert (ready.reason, ready.message) == ("Ready" if is_ready else "Starting", message)
