from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nagaya.api.controlplane.data_store import DATA_STORES, FINALIZER
from nagaya.api.controlplane.data_store_conditions import DataStoreReason
from nagaya.controlplane.hosted.data_store.driver import Driver, Health
from nagaya.controlplane.hosted.data_store.sqlite import SqliteDriver
from nagaya.controlplane.hosted.data_store_controller.plan import Verb, plan
from nagaya.controlplane.hosted.data_store_controller.refusal import refusal
from nagaya.controlplane.hosted.data_store_controller.seen import Seen, stores_of
from nagaya.controlplane.hosted.data_store_controller.status import status
from nagaya.controlplane.hosted.data_store_controller.stores import Stores
from nagaya.controlplane.hosted.host.ownership import Claim, Standing
from nagaya.world import World
from support.hosted_seen import plane_of

ID = "9f1c2d3e-0000-4000-8000-000000000002"
NOW = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)


def seen(
    *, held: bool = True, deleting: bool = False, used: bool = False, wanted: bool = False, known: bool = False
) -> Seen:
    metadata: dict[str, Any] = {"name": "default", "generation": 2, "finalizers": [FINALIZER] if held else []}
    if deleting:
        metadata["deletionTimestamp"] = "2026-11-01T12:00:00Z"
    store = DATA_STORES.convert({"metadata": metadata, "spec": {"driver": "etcd", "managed": True}})
    return Seen(store, ("default/one",) if used else (), wanted, known, NOW)


@pytest.mark.parametrize(
    ("now", "verb"),
    [
        (seen(held=False), Verb.HOLD),
        (seen(), Verb.REST),
        (seen(wanted=True), Verb.REACH),
        (seen(known=True), Verb.REACH),
        (seen(deleting=True, used=True, wanted=True), Verb.REACH),
        (seen(deleting=True), Verb.STOP),
        (seen(deleting=True, held=False), Verb.NOTHING),
    ],
)
def test_a_store_runs_when_it_is_needed_and_goes_when_it_is_not(now: Seen, verb: Verb) -> None:
    assert plan(now).verb is verb


def test_a_store_in_use_says_who_keeps_it() -> None:
    told = status(seen(deleting=True, used=True), Health(DataStoreReason.READY, "etcd answers.", "3.7.3"))

    [deleting] = [each for each in told.conditions if each.type == "Deleting"]
    assert deleting.reason == "InUse"
    assert deleting.message.startswith("HostedControlPlanes have data here: default/one.")
    assert "Their data goes with them" in deleting.message
    assert (told.ready, told.version, told.used_by) == (True, "3.7.3", ("default/one",))


def test_what_is_wrong_with_a_store_is_told_in_its_own_words() -> None:
    told = status(seen(), Health(DataStoreReason.UNREACHABLE, "etcd at x does not answer."))

    [ready] = [each for each in told.conditions if each.type == "Ready"]
    assert (ready.status, ready.reason, ready.message) == ("False", "Unreachable", "etcd at x does not answer.")


def test_a_control_plane_counts_for_the_store_it_names_and_the_one_it_uses() -> None:
    assert set(stores_of(plane_of({"dataStoreRef": {"name": "a"}}, dataStore={"name": "b"}))) == {"a", "b"}
    assert set(stores_of(plane_of())) == {"default"}


def test_those_who_wait_for_a_store_hear_of_it_once(tmp_path: Any) -> None:
    stores, heard = Stores(), list[str]()
    driver: Driver = SqliteDriver(tmp_path, World())
    stores.subscribe(heard.append)

    stores.put("uid", driver)
    stores.put("uid", driver)

    assert heard == ["uid"]
    assert stores.get("uid") is driver
    stores.forget("uid")
    assert stores.get("uid") is None


def test_a_control_plane_that_was_moved_keeps_its_store_before_its_status_is_known() -> None:
    assert plane_of().store_name == ""
    assert plane_of({"tenantID": ID}).store_name == "default"
    assert plane_of({"tenantID": ID}, dataStore={"name": "b"}).store_name == "b"


def test_files_and_process_of_a_store_are_known_by_what_it_began_as() -> None:
    metadata = {"name": "default", "uid": "new"}
    made = {"driver": "etcd", "managed": True}
    assert DATA_STORES.convert({"metadata": metadata, "spec": made}).store_id == "new"
    assert DATA_STORES.convert({"metadata": metadata, "spec": {**made, "storeID": ID}}).store_id == ID


def test_a_store_that_gets_no_files_says_why() -> None:
    elsewhere = refusal(Claim(Standing.ELSEWHERE), Path("/data/hosted"))
    assert (elsewhere.reason, elsewhere.is_ready) == (DataStoreReason.DATA_ELSEWHERE, False)
    assert "/data/hosted" in elsewhere.message
    foreign = refusal(Claim(Standing.FOREIGN, why=f"{ID} belongs to files."), Path("/data/hosted"))
    assert foreign.reason is DataStoreReason.NOT_OWNER
    assert foreign.message.startswith(f"Store {ID} belongs to files.")
