"""Whatever goes wrong while machines are made, there are as many as wanted in the end, and nothing else is left."""

from __future__ import annotations

import pytest

from nagaya.api.cluster.machine import MACHINES
from nagaya.api.kind import Object
from unit.core.machine_set.plane import Plane

pytestmark = pytest.mark.slow


async def in_order(plane: Plane, count: int) -> None:
    names = {each.metadata.name for each in await plane.machines()}
    assert len(names) == count
    assert {each.metadata.name for each in await plane.hosts()} == names
    assert {each.metadata.name for each in await plane.configs()} == names


async def test_a_host_that_is_refused_takes_its_configuration_back(plane: Plane) -> None:
    plane.transport.refuse["PATCH testmachines/"] = 2
    await plane.workers(2)
    await plane.idle()
    await in_order(plane, 2)
    assert sum(each.startswith("DELETE testconfigs/") for each in plane.writes) == 2


async def test_a_machine_that_is_refused_takes_its_objects_back(plane: Plane) -> None:
    plane.transport.refuse["PATCH machines/"] = 1
    await plane.workers(1)
    await plane.idle()
    await in_order(plane, 1)
    assert [each.split("/")[0] for each in plane.writes if each.startswith("DELETE")] == [
        "DELETE testmachines",
        "DELETE testconfigs",
    ]


async def test_a_lost_answer_never_makes_a_second_machine(plane: Plane) -> None:
    plane.transport.lose = "PATCH machines/"
    await plane.workers(1)
    await plane.idle()
    await in_order(plane, 1)
    assert not any(each.startswith("DELETE") for each in plane.writes)


async def test_what_belongs_to_a_machine_that_was_not_known_of_is_not_thrown_away(plane: Plane) -> None:
    await plane.workers(1)
    await plane.idle()
    (machine,) = await plane.machines()
    cache = plane.manager.cache
    # As if the watch were behind: the machine is there, and the cache has never heard of it.
    cache.deleted(MACHINES, machine)
    plane.writes.clear()
    await plane.manager.controllers[0].queue.idle()
    await in_order(plane, 1)
    assert not any(each.split()[1].startswith(("testmachines", "testconfigs")) for each in plane.writes)


async def test_a_lost_answer_about_a_host_leaves_no_second_host(plane: Plane) -> None:
    plane.transport.lose = "PATCH testmachines/"
    await plane.workers(1)
    await plane.idle()
    await plane.look()
    await in_order(plane, 1)


async def test_the_end_of_the_process_at_any_write_changes_nothing_in_the_end(plane: Plane) -> None:
    await plane.stop()
    for last in range(20):
        name = f"s{last}"
        await plane.start(last)
        await plane.workers(2, name)
        await plane.server.settled()
        await plane.pass_time()
        stopped = plane.transport.stopped
        await plane.stop()
        await plane.start()
        await plane.idle()
        await in_order(plane, 2 * (last + 1))
        await plane.stop()
        if not stopped:
            assert last > 6
            break
    else:
        raise AssertionError("it never came to an end")
    await plane.start()


async def test_the_end_of_the_process_at_any_write_loses_no_change_of_labels(plane: Plane) -> None:
    for last in range(10):
        name = f"s{last}"
        await plane.workers(1, name, labels={"tier": "gold", "rack": "7"})
        await plane.idle()
        await plane.take_over()
        await plane.idle()
        await plane.stop()
        await plane.change({"spec": {"template": {"metadata": {"labels": {"tier": None, "new": "x"}}}}}, name)
        await plane.start(last)
        await plane.pass_time()
        stopped = plane.transport.stopped
        await plane.stop()
        await plane.start()
        await plane.idle()
        assert await labels_of(plane, name) == [(None, "7", "x")] * 3, last
        await plane.change({"spec": {"template": {"metadata": {"labels": {"rack": None, "new": None}}}}}, name)
        await plane.idle()
        assert await labels_of(plane, name) == [(None, None, None)] * 3, last
        if not stopped:
            assert last > 4
            return
    raise AssertionError("it never came to an end")


async def labels_of(plane: Plane, name: str) -> list[tuple[str | None, ...]]:
    """What the machine of a set, its host and its configuration say about three labels."""
    objects: list[Object] = [*await plane.machines(), *await plane.hosts(), *await plane.configs()]
    found = [each.metadata.labels for each in objects if each.metadata.labels.get("set") == name]
    return [tuple(labels.get(each) for each in ("tier", "rack", "new")) for labels in found]
