"""Marks of API servers whose exchange was interrupted, and what is said of an exchange that waits."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from nagaya.controlplane.hosted.control_plane.conditions import rolling_out
from nagaya.controlplane.hosted.control_plane.plan import plan
from nagaya.controlplane.hosted.host.host import Host
from nagaya.controlplane.hosted.host.leaving import BalancerFile, drain, read_balancer_file, waits_for_connections
from nagaya.controlplane.hosted.host.roll import Role, Roll, Wanted
from nagaya.controlplane.hosted.host.settings import HostSettings
from nagaya.controlplane.hosted.host.tenant_folder import Started, TenantFolder
from nagaya.supervision.spec import ProcessSpec
from nagaya.supervision.status import ProcessStatus, State
from nagaya.supervision.supervisor import Supervisor
from nagaya.world import World
from support.hosted_seen import UID, Tenant

FIRST, SECOND, FRONT, KINE = (f"{UID}.{name}" for name in ("kube-apiserver-0", "kube-apiserver-1", "balancer", "kine"))
AT = {FIRST: ("127.64.1.2", 6443), SECOND: ("127.64.1.3", 6443)}
FILE = BalancerFile(tuple(AT.values()), "/ca.crt", tuple(AT), leaving=(AT[FIRST],), generation=7)
PLAIN = msgspec.structs.replace(FILE, leaving=())


def wanted(name: str, version: str = "v1.36.4", role: Role = Role.API_SERVER) -> Wanted:
    return Wanted(role, "program", version, ProcessSpec(name, ("/bin/program", version)))


class Restarted(Supervisor):
    """Has found the processes of an earlier life of Nagaya."""

    def __init__(self, folder: TenantFolder) -> None:
        super().__init__(folder.path / "processes", World())
        self.state = State.UNCLAIMED
        self.started: list[str] = []

    def list(self) -> list[ProcessStatus]:
        return [ProcessStatus(name, self.state, 1, 0, "", "") for name in (FIRST, SECOND, FRONT, KINE)]

    async def ensure(self, spec: ProcessSpec) -> None:
        self.started.append(spec.name)


@pytest.fixture
def folder(tmp_path: Path) -> TenantFolder:
    found = TenantFolder.of(tmp_path, UID)
    found.write_for_balancer({"balancer.json": msgspec.json.encode(FILE)})
    return found


@pytest.fixture
def host(tmp_path: Path, folder: TenantFolder, monkeypatch: pytest.MonkeyPatch) -> Host:
    found = Host(HostSettings(tmp_path), World())
    monkeypatch.setattr(found, "folder", lambda _: folder)
    found._supervisor = Restarted(folder)
    return found


def marked(folder: TenantFolder) -> frozenset[str]:
    found = read_balancer_file(folder)
    assert found is not None
    return found.marked()


def say(folder: TenantFolder, generation: int, count: int) -> None:
    status = {"observedGeneration": generation, "leaving": [[*AT[FIRST], count]], "closed": []}
    folder.write_for_balancer({"balancer.json.status": json.dumps(status).encode()})


async def test_a_mark_stays_until_the_api_server_has_its_turn(
    host: Host, folder: TenantFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nagaya was killed after it had written down that the API server is of the new version: it is not."""
    folder.note_started({FIRST: wanted(FIRST).started, SECOND: wanted(SECOND).started, FRONT: Started("b", "")})
    supervisor = Restarted(folder)
    host._supervisor = supervisor
    monkeypatch.setattr(host, "drained", lambda folder, names: drain(folder, names, timeout=0.0))

    await host.carry_out(UID, Roll((wanted(KINE, role=Role.STORE),)), PLAIN)
    assert marked(folder) == {FIRST}
    await host.carry_out(UID, Roll((wanted(FIRST), wanted(SECOND))), PLAIN)

    assert supervisor.started == [KINE, SECOND]
    assert marked(folder) == {FIRST}


async def test_a_mark_stays_while_another_api_server_is_exchanged(
    host: Host, folder: TenantFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both at once would wait for each other."""
    folder.note_started({FIRST: wanted(FIRST).started, SECOND: wanted(SECOND).started})
    draining: list[frozenset[str]] = []

    async def drained(folder: TenantFolder, names: set[str]) -> bool:
        draining.append(marked(folder))
        return True

    monkeypatch.setattr(host, "drained", drained)

    await host.carry_out(UID, Roll((wanted(SECOND, "v1.36.5"),)), PLAIN)

    assert draining == [{SECOND}]
    assert marked(folder) == {FIRST}


async def test_a_mark_goes_when_the_exchange_is_no_longer_wanted(host: Host, folder: TenantFolder) -> None:
    supervisor = Restarted(folder)
    supervisor.state = State.READY
    host._supervisor = supervisor

    await host.carry_out(UID, Roll(), PLAIN)

    assert marked(folder) == frozenset()


def test_who_waits_for_connections_says_how_many(folder: TenantFolder) -> None:
    assert waits_for_connections(folder) == ""
    say(folder, 6, 3)
    assert waits_for_connections(folder) == ""  # an earlier exchange
    say(folder, 7, 3)
    assert waits_for_connections(folder) == "Waiting for 3 connections to kube-apiserver-0 to end."
    say(folder, 7, 1)
    assert waits_for_connections(folder) == "Waiting for 1 connection to kube-apiserver-0 to end."
    say(folder, 7, 0)
    assert waits_for_connections(folder) == ""


def test_the_condition_names_the_connections_that_are_waited_for(tmp_path: Path) -> None:
    tenant = Tenant(tmp_path, {"replicas": 2})
    tenant.start_all()
    tenant.spec["version"] = "v1.36.4"
    tenant.write_files()
    seen = replace(tenant.seen(), waits_for_connections="Waiting for 3 connections to kube-apiserver-0 to end.")

    told = rolling_out(seen, plan(seen))

    assert told.status == "True"
    assert told.message.endswith(" Waiting for 3 connections to kube-apiserver-0 to end.")
