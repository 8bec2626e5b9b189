from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nagaya.controlplane.hosted.host.roll import Role, Roll, Wanted, roll
from nagaya.controlplane.hosted.host.tenant_folder import Started
from nagaya.supervision.spec import ProcessSpec
from nagaya.supervision.status import ProcessStatus, State


def wanted(role: Role, name: str, version: str = "v1.36.3") -> Wanted:
    return Wanted(role, name.rstrip("-0123456789"), version, ProcessSpec(name, ("/bin/program", name, version)))


def servers(count: int, version: str = "v1.36.3") -> list[Wanted]:
    return [wanted(Role.API_SERVER, f"api-{index}", version) for index in range(count)]


class World:
    """Processes that do what they are told, and get ready when the test says so."""

    def __init__(self) -> None:
        self.started: dict[str, Started] = {}
        self.processes: dict[str, ProcessStatus] = {}

    def take(self, steps: Roll) -> None:
        for each in steps.start:
            self.started[each.name] = each.started
            self.set(each.name, State.STARTING)
        for name in steps.stop:
            self.started.pop(name, None)
            self.processes.pop(name, None)

    def set(self, name: str, state: State) -> None:
        self.processes[name] = ProcessStatus(name, state, 1, 0, self.started[name].digest, "")

    def ready(self, *names: str) -> None:
        for name in names or [*self.processes]:
            self.set(name, State.READY)

    def look(self, shall: list[Wanted]) -> Roll:
        return roll(shall, self.started, self.processes)

    def settle(self, shall: list[Wanted]) -> None:
        for _ in range(50):
            steps = self.look(shall)
            if not steps.start and not steps.stop:
                return
            self.take(steps)
            self.ready()
        raise AssertionError("it does not come to rest")


def names(steps: Roll) -> list[str]:
    return [each.name for each in steps.start]


def test_controllers_are_started_when_an_api_server_answers() -> None:
    world, shall = World(), [*servers(1), wanted(Role.CONTROLLER, "kcm")]

    first = world.look(shall)
    assert names(first) == ["api-0"]
    assert "waits for an API server" in first.waiting
    world.take(first)
    assert names(world.look(shall)) == []
    world.ready()
    assert names(world.look(shall)) == ["kcm"]


def test_api_servers_wait_for_kine() -> None:
    world, shall = World(), [*servers(1), wanted(Role.STORE, "kine")]

    first = world.look(shall)
    assert names(first) == ["kine"]
    assert first.waiting == "API servers wait for kine."
    world.take(first)
    world.ready("kine")
    assert names(world.look(shall)) == ["api-0"]


def test_nothing_is_done_when_all_is_as_it_shall_be() -> None:
    world, shall = World(), [*servers(2), wanted(Role.BESIDE, "balancer"), wanted(Role.CONTROLLER, "kcm")]
    world.settle(shall)

    assert world.look(shall) == Roll()


def test_an_upgrade_exchanges_api_servers_one_by_one_and_then_the_controllers() -> None:
    world = World()
    world.settle([*servers(2, "v1.35.4"), wanted(Role.CONTROLLER, "kcm", "v1.35.4")])
    shall = [*servers(2), wanted(Role.CONTROLLER, "kcm")]
    order = []
    for _ in range(3):
        steps = world.look(shall)
        order.append(names(steps))
        world.take(steps)
        assert names(world.look(shall)) == []  # until it is ready nothing else is touched
        world.ready()

    assert order == [["api-0"], ["api-1"], ["kcm"]]


def test_a_new_version_that_does_not_work_stays_with_the_first_api_server() -> None:
    world = World()
    world.settle(servers(3, "v1.35.4"))
    world.take(world.look(servers(3)))
    world.set("api-0", State.WAITING)

    assert names(world.look(servers(3))) == []
    assert names(world.look(servers(3, "v1.35.4"))) == ["api-0"]


def test_what_an_earlier_life_began_is_taken_over_and_what_has_changed_waits_for_its_turn() -> None:
    world = World()
    world.settle(servers(2, "v1.35.4"))
    for name in [*world.processes]:
        world.set(name, State.UNCLAIMED)

    assert names(world.look(servers(2, "v1.35.4"))) == ["api-0", "api-1"]
    assert names(world.look(servers(2))) == ["api-0"]


def test_what_is_too_much_goes_when_the_rest_works() -> None:
    world = World()
    world.settle([*servers(2), wanted(Role.BESIDE, "balancer")])
    alone = [wanted(Role.API_SERVER, "api-0", "v1.36.4")]  # it listens elsewhere now

    first = world.look(alone)
    assert (names(first), first.stop) == (["api-0"], ())
    world.take(first)
    assert world.look(alone).stop == ()
    world.ready("api-0")
    assert set(world.look(alone).stop) == {"api-1", "balancer"}


def test_without_replicas_everything_goes() -> None:
    world = World()
    world.settle([*servers(1), wanted(Role.CONTROLLER, "kcm")])

    assert set(world.look([]).stop) == {"api-0", "kcm"}


@given(st.data())
def test_a_roll_never_takes_a_second_api_server_away_and_always_ends(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 4))
    world, shall = World(), [*servers(count), wanted(Role.CONTROLLER, "kcm")]
    world.settle([*servers(count, "v1.35.4"), wanted(Role.CONTROLLER, "kcm", "v1.35.4")])
    for _ in range(40):
        steps = world.look(shall)
        serving = {name for name, each in world.processes.items() if each.state is State.READY and "api" in name}
        gone = {each.name for each in steps.start} & serving
        assert len(serving - gone) >= count - 1 or not gone
        old = [name for name in world.started if name != "kcm" and world.started[name].version == "v1.35.4"]
        assert "kcm" not in names(steps) or not old
        world.take(steps)
        for name, each in [*world.processes.items()]:
            if each.state is not State.READY:
                # It gets ready, goes on starting, or ends; or Nagaya itself is started anew.
                world.set(name, data.draw(st.sampled_from([State.READY, State.STARTING, State.WAITING])))
    for name, each in [*world.processes.items()]:
        if each.state is not State.READY:
            world.ready(name)
    world.settle(shall)
    assert {each.version for each in world.started.values()} == {"v1.36.3"}
