from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from nagaya.api.controlplane.data_store import DataStore
from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneReason as Reason
from nagaya.api.controlplane.hosted_control_plane import HostedControlPlane
from nagaya.controlplane.hosted.control_plane.deletion import end
from nagaya.controlplane.hosted.control_plane.names import ABANDON_DATA
from nagaya.controlplane.hosted.control_plane.seen import Observer
from nagaya.controlplane.hosted.data_store.errors import StoreUnavailable
from nagaya.controlplane.hosted.data_store.tenant import Tenant
from nagaya.supervision.errors import StillRunning
from support.hosted_seen import UID, plane_of, store_of


@dataclass
class World:
    """What ends, in its order; and what is in the way."""

    did: list[str] = field(default_factory=list)
    stuck: bool = False
    away: bool = False
    reached: bool = True
    store: DataStore | None = field(default_factory=store_of)

    # As the machine.
    async def remove(self, uid: str) -> None:
        if self.stuck:
            raise StillRunning("process 7 does not end.")
        self.did.append(f"processes of {uid}")

    async def remove_files(self, uid: str) -> None:
        self.did.append(f"files of {uid}")

    # As the stores.
    def get(self, uid: str) -> World | None:
        return self if self.reached else None

    # As one store.
    async def deprovision(self, tenant: Tenant) -> None:
        if self.away:
            raise StoreUnavailable("etcd does not answer.")
        self.did.append(f"data of {tenant.uid}")

    # As the observer.
    @property
    def host(self) -> World:
        return self

    @property
    def stores(self) -> World:
        return self

    def store_of(self, plane: HostedControlPlane) -> DataStore | None:
        return self.store


def observer(world: World) -> Observer:
    return cast("Observer", world)


def used(**annotations: str) -> HostedControlPlane:
    plane = plane_of(dataStore={"name": "default"})
    metadata = msgspec.structs.replace(plane.metadata, annotations=annotations)
    return msgspec.structs.replace(plane, metadata=metadata)


async def test_processes_end_before_data_goes_and_files_last() -> None:
    world = World()
    done = await end(observer(world), used())

    assert done.done
    assert world.did == [f"processes of {UID}", f"data of {UID}", f"files of {UID}"]


async def test_what_never_had_data_needs_no_store() -> None:
    world = World(store=None)

    assert (await end(observer(world), plane_of())).done
    assert world.did == [f"processes of {UID}", f"files of {UID}"]


async def test_data_is_not_touched_while_something_may_write() -> None:
    world = World(stuck=True)
    done = await end(observer(world), used())

    assert (done.done, done.reason, world.did) == (False, Reason.STOPPING_COMPONENTS, [])


async def test_a_store_that_is_away_holds_it_up_and_only_a_user_lets_it_go() -> None:
    worlds: list[Any] = [World(away=True), World(reached=False), World(store=None)]
    for world in worlds:
        done = await end(observer(world), used())
        assert (done.done, done.reason) == (False, Reason.REMOVING_DATA)
        assert "Its data cannot be removed" in done.message
        assert ABANDON_DATA in done.message
        assert f"files of {UID}" not in world.did

        done = await end(observer(world), used(**{ABANDON_DATA: ""}))
        assert done.done
        assert "Its data cannot be removed" in done.message
        assert f"files of {UID}" in world.did


async def test_what_was_moved_ends_under_the_identity_that_it_began_with_also_before_its_status_is_known() -> None:
    world, began = World(), "9f1c2d3e-0000-4000-8000-000000000002"
    done = await end(observer(world), plane_of({"tenantID": began}))

    assert done.done
    assert world.did == [f"processes of {began}", f"data of {began}", f"files of {began}"]
