"""Whose a folder is, and who gets nothing of it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from nagaya.api.meta import ObjectMeta
from nagaya.controlplane.hosted.host import ownership
from nagaya.controlplane.hosted.host.host import Host
from nagaya.controlplane.hosted.host.ownership import Owner, Standing, claim
from nagaya.controlplane.hosted.host.settings import HostSettings
from nagaya.controlplane.hosted.host.tenant_folder import TenantFolder
from nagaya.supervision.status import ProcessStatus, State
from nagaya.supervision.supervisor import Supervisor
from nagaya.world import World

FIRST = "355ba8b8-c8fd-40d6-92d6-8e90aaaf6302"
SECOND = "9f1c2d3e-0000-4000-8000-000000000002"


def metadata(name: str = "one", uid: str = FIRST, namespace: str = "team") -> ObjectMeta:
    return ObjectMeta(name=name, namespace=namespace, uid=uid)


def standing(who: ObjectMeta, identity: str, record: Owner | None) -> Standing:
    return claim(who, identity, record).standing


def test_who_began_something_has_it() -> None:
    first = metadata()

    assert claim(first, FIRST, None).standing is Standing.NEW
    assert not claim(first, FIRST, None).recorded
    assert claim(first, FIRST, Owner.of(first)).recorded
    paused = claim(first, FIRST, Owner.of(first, paused=True))
    assert (paused.standing, paused.recorded, paused.refused) == (Standing.OWN, False, False)


def test_after_a_move_the_same_name_goes_on_with_it() -> None:
    moved, record = metadata(uid=SECOND), Owner.of(metadata(), paused=True)

    assert standing(moved, FIRST, record) is Standing.HANDED_OVER
    assert claim(moved, FIRST, Owner.of(moved)).recorded


def test_what_is_not_here_is_not_begun_in_its_place() -> None:
    found = claim(metadata(uid=SECOND), FIRST, None)

    assert (found.standing, found.refused) == (Standing.ELSEWHERE, True)


@pytest.mark.parametrize("who", [metadata("two", SECOND), metadata(uid=SECOND, namespace="others")])
def test_who_is_called_otherwise_gets_nothing_whatever_it_says(who: ObjectMeta) -> None:
    found = claim(who, FIRST, Owner.of(metadata()))

    assert (found.standing, found.refused) == (Standing.FOREIGN, True)
    assert found.why == f"{FIRST} belongs to team/one."


def test_what_was_moved_away_does_not_come_back_with_the_object_that_it_left() -> None:
    found = claim(metadata(), FIRST, Owner.of(metadata(uid=SECOND)))

    assert found.standing is Standing.FOREIGN
    assert "was moved to another management API" in found.why


def test_the_record_is_kept_closed_and_read_again(tmp_path: Path) -> None:
    folder = tmp_path / "tenants" / FIRST
    ownership.write(folder, Owner.of(metadata(), paused=True))

    assert ownership.read(folder) == Owner("one", FIRST, "team", paused=True)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "owner.json").stat().st_mode) == 0o600
    assert ownership.read(tmp_path) is None


def test_a_record_that_makes_no_sense_makes_a_folder_nobodys(tmp_path: Path) -> None:
    host, folder = Host(HostSettings(tmp_path), World()), tmp_path / "tenants" / FIRST
    folder.mkdir(parents=True)
    (folder / "owner.json").write_text("{")
    found = host.claim(metadata(), FIRST, folder)

    assert found.standing is Standing.FOREIGN
    assert str(folder / "owner.json") in found.why


def test_a_pause_is_noted_of_the_owner_alone(tmp_path: Path) -> None:
    host, folder = Host(HostSettings(tmp_path), World()), tmp_path / "tenants" / FIRST
    host.note_pause(metadata(), FIRST, folder)
    assert not folder.exists()

    ownership.write(folder, Owner.of(metadata()))
    host.note_pause(metadata(uid=SECOND), FIRST, folder)
    assert ownership.read(folder) == Owner.of(metadata())
    host.note_pause(metadata(), FIRST, folder)
    assert ownership.read(folder) == Owner.of(metadata(), paused=True)


def test_the_record_is_the_last_that_goes_of_a_folder(tmp_path: Path) -> None:
    folder = TenantFolder.of(tmp_path, FIRST)
    folder.write({"pki/ca.crt": b"x", "ports.json": b"{}"})
    ownership.write(folder.path, Owner.of(metadata()))

    folder.empty()
    assert [each.name for each in folder.path.iterdir()] == ["owner.json"]
    folder.empty()
    folder.remove()
    assert not folder.path.exists()
    folder.empty()


class Left(Supervisor):
    """Has found programs of an earlier life, and notes which are stopped."""

    def __init__(self, folder: Path, names: list[str]) -> None:
        super().__init__(folder, World())
        self._names = names
        self.stopped: list[str] = []

    def list(self) -> list[ProcessStatus]:
        return [ProcessStatus(name, State.UNCLAIMED, 1, 0, "", "") for name in self._names]

    async def stop(self, name: str) -> None:
        self.stopped.append(name)


async def test_programs_of_who_vanished_while_paused_go_on_for_whom_it_was_moved_to(tmp_path: Path) -> None:
    host = Host(HostSettings(tmp_path), World())
    third, store = "00000000-0000-4000-8000-000000000003", "00000000-0000-4000-8000-000000000004"
    supervisor = Left(tmp_path, [f"{FIRST}.kube-apiserver-0", f"{SECOND}.kube-apiserver-0", f"{third}.kine",
                                 f"{store}.etcd"])  # fmt: skip
    host._supervisor = supervisor
    ownership.write(host.folder(FIRST).path, Owner.of(metadata(), paused=True))
    ownership.write(host.folder(SECOND).path, Owner.of(metadata("two", SECOND)))
    ownership.write(host.store_folder(store), Owner("default", store, paused=True))

    await host.end_strangers({third})

    assert supervisor.stopped == [f"{SECOND}.kube-apiserver-0"]
