from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from nagaya.controlplane.hosted.data_store.errors import SnapshotDamaged, StoreError, StoreNotEmpty
from nagaya.controlplane.hosted.data_store.snapshots import Entry, Head, Reader, encode
from nagaya.controlplane.hosted.data_store.sqlite import SqliteDriver
from nagaya.controlplane.hosted.data_store.tenant import Tenant
from nagaya.world import World
from support.standing_clock import StandingClock

ONE = Tenant("0f8fad5b-d9cb-469f-a165-70867728950e")
OTHER = Tenant("7c9e6679-7425-40de-944b-e07fc1f90ae7")
FOUND = [Entry(f"pods/default/p{number:04}".encode(), b"v" * number) for number in range(1, 1200)]


@pytest.fixture
def driver(tmp_path: Path) -> SqliteDriver:
    return SqliteDriver(tmp_path / "stores", World(StandingClock()))


async def copy(*entries: Entry, revision: int = 5000, cut: int = 0) -> AsyncIterator[bytes]:
    async def page() -> AsyncIterator[tuple[Entry, ...]]:
        yield entries

    pieces = [piece async for piece in encode(Head(revision, "", ONE.uid), page())]
    yield b"".join(pieces)[: -cut or None]


async def read(driver: SqliteDriver, tenant: Tenant) -> tuple[Head, list[Entry]]:
    reader = Reader(driver.snapshot(tenant))
    return await reader.head(), [entry async for page in reader.pages() for entry in page]


async def test_a_copy_comes_out_as_it_went_in(driver: SqliteDriver) -> None:
    await driver.provision(ONE)
    leased = Entry(b"masterleases/10.0.0.1", b"x", 15, 15)
    assert await driver.restore(ONE, copy(leased, *FOUND)) == 1200
    head, entries = await read(driver, ONE)
    assert entries == [leased, *FOUND]
    assert head.revision == 6200, "revisions go on behind those of the copy, so that clients notice"
    assert (await driver.usage(ONE)).keys == 1200
    assert (await driver.usage(ONE)).bytes > 1000


async def test_tenants_have_files_of_their_own_that_nobody_else_can_read(driver: SqliteDriver, tmp_path: Path) -> None:
    for tenant in (ONE, OTHER):
        await driver.provision(tenant)
    await driver.restore(ONE, copy(*FOUND))
    assert (await driver.usage(OTHER)).keys == 0
    assert (await read(driver, OTHER))[1] == []
    for path in (tmp_path / "stores").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


async def test_only_what_lives_is_copied(driver: SqliteDriver, tmp_path: Path) -> None:
    await driver.provision(ONE)
    await driver.restore(ONE, copy(FOUND[0], FOUND[1]))
    database = apsw.Connection(str(tmp_path / "stores" / ONE.uid / "state.db"))
    name = f"/registry/{FOUND[0].key.decode()}"
    insert = "INSERT INTO kine (name, created, deleted, create_revision, prev_revision, lease, value) VALUES"
    database.execute(f"{insert} (?, 0, 1, 5001, 5001, 0, x'00')", (name,))
    database.execute(f"{insert} ('/registry/health', 1, 0, 0, 0, 0, x'00'), ('compact_rev_key', 1, 0, 0, 0, 0, x'00')")
    database.execute(f"{insert} ('/registryz/other', 1, 0, 0, 0, 0, x'00')")
    database.close()
    assert (await read(driver, ONE))[1] == [FOUND[1]]
    assert (await driver.usage(ONE)).keys == 1


async def test_a_place_with_keys_takes_no_copy(driver: SqliteDriver) -> None:
    await driver.provision(ONE)
    await driver.restore(ONE, copy(FOUND[0]))
    with pytest.raises(StoreNotEmpty, match="has keys"):
        await driver.restore(ONE, copy(FOUND[1]))
    assert (await read(driver, ONE))[1] == [FOUND[0]]


async def test_a_damaged_copy_leaves_nothing(driver: SqliteDriver) -> None:
    await driver.provision(ONE)
    with pytest.raises(SnapshotDamaged):
        await driver.restore(ONE, copy(*FOUND, cut=1))
    assert (await driver.usage(ONE)).keys == 0
    assert await driver.restore(ONE, copy(FOUND[0])) == 1


async def test_removing_is_complete_and_can_be_repeated(driver: SqliteDriver, tmp_path: Path) -> None:
    for tenant in (ONE, OTHER):
        await driver.provision(tenant)
        await driver.restore(tenant, copy(FOUND[0]))
    await driver.deprovision(ONE)
    await driver.deprovision(ONE)
    assert [path.name for path in (tmp_path / "stores").iterdir()] == [OTHER.uid]
    with pytest.raises(StoreError, match="has no place"):
        await driver.restore(ONE, copy(FOUND[0]))


async def test_the_store_says_whether_it_can_be_written(driver: SqliteDriver, tmp_path: Path) -> None:
    assert (await driver.probe()).is_ready
    (tmp_path / "file").touch()
    health = await SqliteDriver(tmp_path / "file" / "stores", World()).probe()
    assert not health.is_ready
    assert health.message.endswith("Not a directory.")


def test_a_folder_that_kine_would_misread_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="question mark"):
        SqliteDriver(tmp_path / "what?", World())


async def test_kine_is_told_the_file_of_the_tenant(driver: SqliteDriver, tmp_path: Path) -> None:
    store = await driver.provision(ONE)
    assert store.endpoint.startswith(f"sqlite://{tmp_path}/stores/{ONE.uid}/state.db?_journal=WAL&")
    assert store.facts("/pki", "/run/kine.sock").socket == "/run/kine.sock"
    assert not store.files


@pytest.mark.parametrize("name", ["state.db", "state.db-wal", "state.db-shm"])
@pytest.mark.parametrize("kind", ["link", "same", "pipe"])
async def test_what_a_tenant_puts_in_place_of_its_file_leads_nowhere(tmp_path: Path, name: str, kind: str) -> None:
    driver = SqliteDriver(tmp_path / "store", World())
    await driver.provision(ONE)
    await driver.restore(ONE, copy(FOUND[0]))
    precious = tmp_path / "precious"
    precious.write_bytes(b"of somebody else")
    file = tmp_path / "store" / ONE.uid / name
    file.unlink(missing_ok=True)
    if kind == "link":
        file.symlink_to(precious)
    elif kind == "same":
        file.hardlink_to(precious)
    else:
        os.mkfifo(file)
    with pytest.raises(StoreError, match="not the tenant's own file"):
        await driver.usage(ONE)
    with pytest.raises(StoreError, match="not the tenant's own file"):
        [piece async for piece in driver.snapshot(ONE)]
    await driver.deprovision(ONE)
    assert precious.read_bytes() == b"of somebody else"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
async def test_what_is_restored_belongs_to_the_user_of_the_tenant(tmp_path: Path) -> None:
    driver = SqliteDriver(tmp_path / "store", World(), lambda _: 231_997)
    await driver.provision(ONE)
    # Another process of Nagaya restores, which does not know who has which user.
    assert await SqliteDriver(tmp_path / "store", World()).restore(ONE, copy(FOUND[0])) == 1
    folder = tmp_path / "store" / ONE.uid
    assert {each.stat().st_uid for each in (folder, *folder.iterdir())} == {231_997}
    assert (folder.parent.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o711, 0o700)
