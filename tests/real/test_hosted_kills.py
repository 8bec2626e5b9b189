"""Whatever is killed without warning comes back, once, and with its data: programs of tenants, their stores, Nagaya.

Two control planes at a time, which between them have every program there is, are made, changed and deleted while
processes are killed at moments that a seed chooses: one is upgraded, the other gets a second API server. Someone writes
all the time and remembers what was confirmed, and someone looks at `/proc` for two of one program.

NAGAYA_KILL_ROUNDS says how many pairs there are, one after the other, and NAGAYA_KILL_SEED where the seeds begin.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self

import pytest
import yaml

from nagaya.controlplane.hosted.data_store.errors import StoreError
from nagaya.controlplane.hosted.data_store.managed_etcd import ManagedEtcd
from nagaya.world import World
from support.data_stores import CONFIG_MAPS
from support.hosting import Hosting, Tenant, eventually, manifests
from support.real import installed_binaries
from support.thoroughness import seed_of

pytestmark = pytest.mark.long("kills each program once and waits until a real control plane is back")

ROUNDS = int(os.environ.get("NAGAYA_KILL_ROUNDS", "1"))
SEED = int(os.environ.get("NAGAYA_KILL_SEED", seed_of(1)))
OLD, NEW = "v1.35.4", "v1.36.3"
FILES = "files"
PATIENCE = 240.0
CONTROLLERS = "nagaya controllers"
PATIENT = 900
"""Seconds for the whole, on a machine that is far too busy."""


@dataclass(frozen=True)
class Ordeal:
    """What becomes of one control plane."""

    name: str
    seed: int
    spec: Mapping[str, Any]
    change: Mapping[str, Any]
    programs: frozenset[str]
    """What runs in the end."""


def upgraded(seed: int) -> Ordeal:
    """On an etcd that Nagaya keeps, with a tunnel; it gets another version."""
    tunnel = {"konnectivity": {"enabled": True}}
    programs = {"kube-apiserver-0", "kube-controller-manager", "kube-scheduler", "konnectivity-server"}
    return Ordeal(f"up-{seed}", seed, {"version": OLD, "addons": tunnel}, {"version": NEW}, frozenset(programs))


def scaled(seed: int) -> Ordeal:
    """On a file, through kine; it gets a second API server, and with it what stands in front of them."""
    programs = {"kube-apiserver-0", "kube-apiserver-1", "kube-controller-manager", "kube-scheduler", "kine", "balancer"}
    spec = {"version": NEW, "dataStoreRef": {"name": FILES}}
    return Ordeal(f"out-{seed}", seed, spec, {"replicas": 2}, frozenset(programs))


@pytest.fixture(scope="module")
def hosting() -> Iterator[Hosting]:
    installed_binaries(("kine", "konnectivity-server"))
    installed_binaries(("kube-apiserver", "kube-controller-manager", "kube-scheduler"), OLD)
    with Hosting() as found:
        store = {
            "apiVersion": "controlplane.cluster.x-k8s.io/v1alpha1",
            "kind": "DataStore",
            "metadata": {"name": FILES},
            "spec": {"driver": "SQLite"},
        }
        found.apply(yaml.safe_dump(store))
        yield found


@pytest.mark.timeout(PATIENT)
@pytest.mark.parametrize("seed", range(SEED, SEED + 2 * ROUNDS, 2))
def test_what_is_killed_at_any_moment_comes_back_once_and_with_its_data(hosting: Hosting, seed: int) -> None:
    stage = Stage(hosting)
    with Twins(hosting) as twins, ThreadPoolExecutor() as pool:
        plays = [pool.submit(stage.play, each) for each in (upgraded(seed), scaled(seed + 1))]
        for play in plays:
            try:
                play.result()
            except AssertionError as error:
                error.add_note("\n".join([*stage.diary, hosting.log()]))
                raise
    print(*stage.diary, sep="\n")
    assert twins.seen == []
    assert sum("is killed" in each for each in stage.diary) == 18
    tenants = hosting.folder / "hosted" / "tenants"
    assert [*tenants.iterdir()] == []
    eventually(partial(_etcd_is_empty, hosting), "etcd to have nothing of them", PATIENCE)
    assert [*(hosting.folder / "hosted" / "stores").glob(f"*/{'[0-9a-f]' * 8}-*")] == []
    assert [name for name in _running(hosting) if not name.endswith(".etcd")] == []


@dataclass
class Stage:
    """Where ordeals are played, several at a time."""

    hosting: Hosting
    diary: list[str] = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)
    _controllers: threading.Lock = field(default_factory=threading.Lock)

    def play(self, ordeal: Ordeal) -> None:
        """From its declaration to its end."""
        hosting, dice = self.hosting, random.Random(ordeal.seed)
        hosting.apply(manifests(ordeal.name, **ordeal.spec))
        uid: str = hosting.plane(ordeal.name)["metadata"]["uid"]
        self._note(f"{ordeal.name} is declared")
        self._kill(dice, ordeal, uid, 3)
        tenant = hosting.tenant(ordeal.name, PATIENCE)
        self._note(f"{ordeal.name} is initialized")
        with Writer(tenant) as writer:
            eventually(lambda: writer.confirmed, "the first write", PATIENCE)
            patch = json.dumps({"spec": ordeal.change})
            hosting.kubectl("patch", "hcp", ordeal.name, "--type=merge", "-p", patch)
            self._note(f"{ordeal.name} is changed")
            self._kill(dice, ordeal, uid, 3)
            eventually(partial(self._settled, ordeal, tenant), f"{ordeal.name} as declared", PATIENCE)
            self._note(f"{ordeal.name} is as declared")
            self._kill(dice, ordeal, uid, 2)
            before = len(writer.confirmed)
            eventually(partial(self._settled, ordeal, tenant), f"{ordeal.name} as it was", PATIENCE)
            self._note(f"{ordeal.name} is as it was")
            eventually(lambda: len(writer.confirmed) > before, "another write", PATIENCE)
        status, answer = tenant.ask("GET", CONFIG_MAPS)
        assert status == 200, answer
        assert writer.confirmed - {each["metadata"]["name"] for each in json.loads(answer)["items"]} == set()
        hosting.kubectl("delete", "cluster", ordeal.name, "--wait=false")
        self._note(f"{ordeal.name} is deleted")
        self._kill(dice, ordeal, uid, 1)
        eventually(partial(self._gone, ordeal), f"{ordeal.name} to be gone", PATIENCE)
        self._note(f"{ordeal.name} is gone")
        assert [name for name in _running(hosting) if name.startswith(uid)] == []
        assert [*(hosting.folder / "hosted" / "processes").glob(f"{uid}*")] == []

    def _note(self, sentence: str) -> None:
        self.diary.append(f"{time.monotonic() - self._began:6.1f} {sentence}")

    def _kill(self, dice: random.Random, ordeal: Ordeal, uid: str, times: int) -> None:
        """Kill so many. Each once: pauses before the next start of one that ends again and again grow."""
        spared: set[str] = set()
        while len(spared) < times:
            time.sleep(dice.uniform(0.1, 1.5))
            with self._controllers:
                living = self._victims(ordeal, uid)
                if not (victims := sorted({*living, CONTROLLERS} - spared)):
                    continue  # there will be more
                spared.add(victim := dice.choice(victims))
                self._note(f"{victim} of {ordeal.name} is killed")
                if victim == CONTROLLERS:
                    self.hosting.kill_controllers()
                    time.sleep(dice.uniform(0.0, 1.0))
                    self.hosting.start_controllers()
                else:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(living[victim], signal.SIGKILL)

    def _victims(self, ordeal: Ordeal, uid: str) -> dict[str, int]:
        own = self.hosting.processes(uid)
        return own if "kine" in ordeal.programs else {**own, **self.hosting.processes(_etcd_uid(self.hosting))}

    def _settled(self, ordeal: Ordeal, tenant: Tenant) -> bool:
        status = self.hosting.plane(ordeal.name)["status"]
        holds = {each["type"] for each in status["conditions"] if each["status"] == "True"}
        wanted = {"version": ordeal.spec["version"], "replicas": 1, **ordeal.change}
        return (
            set(self.hosting.processes(tenant.uid)) == ordeal.programs
            and (status.get("version"), status.get("readyReplicas")) == (wanted["version"], wanted["replicas"])
            and "ComponentsReady" in holds
            and "RollingOut" not in holds
            and tenant.is_ready()
        )

    def _gone(self, ordeal: Ordeal) -> bool:
        left = self.hosting.kubectl("get", "cluster,hcp", "-o", "name")
        return not any(line.endswith(f"/{ordeal.name}") for line in left.splitlines())


class Writer:
    """Writes all the time, and remembers what was confirmed."""

    def __init__(self, tenant: Tenant) -> None:
        self.confirmed: set[str] = set()
        self._tenant = tenant
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work)

    def _work(self) -> None:
        number = 0
        while not self._stop.wait(0.1):
            number += 1
            status, answer = self._tenant.ask("POST", CONFIG_MAPS, {"metadata": {"name": f"write-{number}"}})
            if status == 201:
                self.confirmed.add(json.loads(answer)["metadata"]["name"])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


class Twins:
    """Looks for two of one program, by the folder that each process works in: every program has its own."""

    def __init__(self, hosting: Hosting) -> None:
        self.seen: list[str] = []
        self._hosting = hosting
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def _look(self) -> None:
        while not self._stop.wait(0.1):
            for name, pids in _running(self._hosting).items():
                # One may have ended, and the next begun, while the others were looked at.
                if len(pids) > 1 and len(_running(self._hosting, pids).get(name, [])) > 1:
                    self.seen.append(f"{name}: {pids}")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def _running(hosting: Hosting, pids: list[int] | None = None) -> dict[str, list[int]]:
    """The processes of each program, as the kernel knows them; of some, or all that there are."""
    folder, found = str(hosting.folder / "hosted" / "processes"), dict[str, list[int]]()
    for pid in pids or [int(name) for name in os.listdir("/proc") if name.isdecimal()]:
        with contextlib.suppress(OSError):
            place = Path(os.readlink(f"/proc/{pid}/cwd").removesuffix(" (deleted)"))
            if str(place.parent) == folder:
                found.setdefault(place.name, []).append(pid)
    return found


def _etcd_uid(hosting: Hosting) -> str:
    found = hosting.kubectl("get", "datastore", "default", "--ignore-not-found", "-o", "jsonpath={.metadata.uid}")
    return found or "none"


def _etcd_is_empty(hosting: Hosting) -> bool:
    try:
        left = asyncio.run(_left_in_etcd(hosting))
    except StoreError:
        return False  # it was killed just now
    assert left == []
    return True


async def _left_in_etcd(hosting: Hosting) -> list[str]:
    folder = hosting.folder / "hosted" / "stores" / _etcd_uid(hosting)
    async with ManagedEtcd.prepare(folder, Path("etcd"), World()).driver().connected() as client:
        keys = [each.key.decode() async for page in client.kv.pages(b"/") for each in page.kvs]
        return [*keys, *(user for user in await client.auth.users() if user != "root")]
