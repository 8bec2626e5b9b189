"""Whatever a server does to its clients, the cache ends up equal to it, never goes back, and tells every deletion."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from nagaya.kube.api import Api
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.cache.store import version
from nagaya.kube.errors import ApiError
from nagaya.kube.key import Key
from nagaya.kube.transport import NoAnswer
from support.crates import COLLECTION, CRATES, Crate
from support.kube import FakeServer
from support.virtual_run import run, virtual_world

ACTIONS = (
    "put",
    "remove",
    "create",
    "change",
    "delete",
    "hold",
    "drop",
    "end",
    "forget",
    "lag",
    "slow",
    "down",
    "lose",
    "bookmark",
    "sleep",
)
Step = tuple[str, int, int]
STEPS = st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 3), st.integers(0, 5)), max_size=40)


class Listener:
    """Rebuilds the objects from changes alone, and checks each of them."""

    def __init__(self) -> None:
        self.objects: dict[Key, Crate] = {}
        self.newest: dict[str, int] = {}
        self.gone: set[str] = set()

    def __call__(self, change: Change[Crate]) -> None:
        key = Key.of(change.object)
        uid = change.object.metadata.uid
        assert self.objects.get(key) is change.old, "a change begins where the last one ended"
        assert uid not in self.gone, "what is gone does not come back"
        if change.new is None:
            self.gone.add(uid)
            del self.objects[key]
            return
        assert version(change.new) > self.newest.get(uid, 0), "an object never goes back"
        self.newest[uid] = version(change.new)
        self.objects[key] = change.new


class Play:
    """One server, one cache, and a client that writes through it."""

    def __init__(self, seed: int) -> None:
        world = virtual_world(seed)
        self.server = FakeServer()
        client = self.server.client(world)
        self.cache = Cache(client, world)
        self.api = Api(client, self.cache, "test")
        self.listener = Listener()
        self.writes: list[asyncio.Task[None]] = []

    async def step(self, action: str, number: int, amount: int) -> None:
        server, name = self.server, f"crate{number}"
        place = (COLLECTION, "n", name)
        match action:
            case "put":
                server.put(*place, data={"amount": str(amount)})
            case "remove" if place in server.objects:
                server.remove(*place)
            case "create" | "change" | "delete" | "hold":
                writing = asyncio.create_task(self.write(action, name, amount))
                self.writes.append(writing)
                if not server.slow:
                    await writing
            case "drop":
                server.drop_watches()
            case "end":
                server.end_watches()
            case "forget":
                server.forget_history()
            case "lag":
                server.lag = amount * 0.7
            case "slow":
                server.slow = amount * 0.4
            case "down":
                server.down = not server.down
            case "lose":
                server.lose_next_answer = True
            case "bookmark":
                server.bookmark()
            case "sleep":
                await asyncio.sleep(amount)

    async def write(self, action: str, name: str, amount: int) -> None:
        api, key = self.api, Key("n", name)
        held = self.cache.get(CRATES, key)
        try:
            if action == "create":
                made = await api.create(CRATES, {"metadata": {"name": name, "namespace": "n"}, "data": {}})
                self.sees(key, made)
            elif held is not None and action == "change":
                self.sees(key, await api.metadata(CRATES, held, labels={"amount": str(amount)}))
            elif held is not None and action == "hold":
                finalizers = ("test/hold",) if amount % 2 else ()
                self.sees(key, await api.metadata(CRATES, held, finalizers=finalizers))
            elif held is not None and action == "delete":
                left = await api.delete(CRATES, held)
                now = self.cache.get(CRATES, key)
                assert left is not None or now is None or now.metadata.uid != held.metadata.uid
        except (ApiError, NoAnswer):
            return

    def sees(self, key: Key, written: Crate) -> None:
        """A controller's own write is in the cache: as it was written, in a newer state, or already gone again."""
        held = self.cache.get(CRATES, key)
        if held is not None and held.metadata.uid == written.metadata.uid:
            assert version(held) >= version(written)
        else:
            assert written.metadata.uid in self.listener.gone

    async def settle(self) -> None:
        self.server.down = False
        self.server.lag = self.server.slow = 0.0
        await asyncio.gather(*self.writes)
        await asyncio.sleep(150)


@settings(max_examples=120, deadline=None)
@given(STEPS, st.integers(0, 1000))
def test_the_cache_converges_never_goes_back_and_tells_every_deletion(steps: list[Step], seed: int) -> None:
    async def main() -> None:
        play = Play(seed)
        play.cache.start(CRATES)
        play.cache.subscribe(CRATES, play.listener)
        await play.cache.synced()
        for step in steps:
            await play.step(*step)
        await play.settle()
        expected = {
            Key("n", obj["metadata"]["name"]): (obj["metadata"]["uid"], obj["metadata"]["resourceVersion"])
            for obj in play.server.objects.values()
        }
        held = {Key.of(obj): (obj.metadata.uid, obj.metadata.resource_version) for obj in play.cache.list(CRATES)}
        assert held == expected
        assert play.listener.objects == {Key.of(obj): obj for obj in play.cache.list(CRATES)}
        assert play.listener.gone == play.listener.newest.keys() - {uid for uid, _ in expected.values()}
        assert play.cache.unfollowed() == []
        await play.cache.close()

    run(main())
