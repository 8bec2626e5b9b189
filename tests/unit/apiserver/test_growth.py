"""Every list, map, text and nested value of every kind, doubled: cost may not grow faster than n log n.

Objects grow in one place at a time and are created, replaced, patched and applied. `make test` looks at a sample of the
places and at those that were too expensive once; `make test-all` at all of them.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from functools import partial

import pytest

from nagaya.api.admission.catalog import ADMISSION
from nagaya.api.catalog import PARTS
from nagaya.api.conversion.proxmox.in_process import IN_PROCESS
from nagaya.api.crd import render
from nagaya.apiserver.server import ApiServer, Config
from nagaya.apiserver.web.request import Request
from nagaya.world import World
from support.cpu import MOST, cpu_seconds, growth
from support.growth import Place, places, sample_at
from support.in_process import ADMIN, Api, MovingClock
from support.repairs import Repairs
from support.thoroughness import THOROUGH, exhaustive, spread

SIZE = 250
TEXT = 5000
KNOWN = (
    "configmaps.v1.metadata.ownerReferences",
    "configmaps.v1.metadata.managedFields",
    "configmaps.v1.metadata.finalizers",
    "configmaps.v1.data",
    "pods.v1.spec.containers",
    "pods.v1.spec.topologySpreadConstraints",
    "pods.v1.spec.volumes[].projected.sources",
    "resourcequotas.v1.spec.scopeSelector.matchExpressions",
    "clusters.v1beta2.spec.topology.variables",
)
_PARTS = 8
_ROUNDS = 24


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    clock = MovingClock()
    config = Config(tokens={"admin": ADMIN}, rules=ADMISSION, versions=IN_PROCESS)
    server = await ApiServer.start(config, World(clock=clock))
    found = Api(server, clock)
    for part in PARTS.values():
        for definition in part:
            code, answer = await found.ask(
                "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", render(definition)
            )
            assert code == 201, answer
    await server.settled()
    yield found
    await server.stop()


def all_places(api: Api) -> list[Place]:
    """The places of all kinds that can be created. What several kinds have in common is looked at in the first."""
    known: set[object] = set()
    resources = [each for each in api.server.backend.catalog if "create" in each.verbs]
    # What every object has is looked at in a kind that is quickly checked.
    resources.sort(key=lambda each: each.gvr.resource != "configmaps")
    return [place for resource in resources for place in places(resource, known)]


async def test_kinds_that_were_too_expensive_once(api: Api) -> None:
    chosen = [place for place in all_places(api) if str(place) in KNOWN]

    assert sorted(map(str, chosen)) == sorted(KNOWN)
    assert await too_expensive(api, chosen) == []


@pytest.mark.long("Requests with large objects of many kinds, each measured twice")
async def test_a_sample_of_all_places(api: Api) -> None:
    found = all_places(api)

    assert len(found) > 3000
    assert await too_expensive(api, spread(found, 40) if not THOROUGH else found[:: len(found) // 40]) == []


@exhaustive
@pytest.mark.long("Requests with large objects of every kind, each measured twice")
@pytest.mark.parametrize("part", range(_PARTS))
async def test_every_place(api: Api, part: int) -> None:
    assert await too_expensive(api, all_places(api)[part::_PARTS]) == []


async def too_expensive(api: Api, chosen: list[Place]) -> list[str]:
    """The places where four times the size costs much more than four times as much, and by which request."""
    found = []
    for number, place in enumerate(chosen):
        for same in (False, True) if place.has_items else (False,):
            for verb in VERBS:
                growing = Growing(api, place, f"x{number}{verb}{same}".lower(), same=same)
                await growing.repair()
                factor = await growth(lambda size, growing=growing, verb=verb: growing.cost(verb, size), growing.size)
                if factor > MOST:
                    found.append(f"{place}: {verb} of {'equal' if same else 'different'} items costs x{factor:.0f}")
    return found


VERBS = ("create", "update", "patch", "apply")


class Growing:
    """Requests for an object that grows at one place."""

    def __init__(self, api: Api, place: Place, name: str, *, same: bool) -> None:
        self._api = api
        self._place = place
        self._name = name
        self._same = same
        self._repairs = Repairs(place.steps, partial(sample_at, place.resource.struct))
        self.size = SIZE if place.has_items or place.is_depth else TEXT
        resource = place.resource
        group = f"/apis/{resource.gvr.group}" if resource.gvr.group else "/api"
        namespace = "/namespaces/default" if resource.namespaced else ""
        self._folder = f"{group}/{resource.gvr.version}{namespace}/{resource.gvr.resource}"

    async def repair(self) -> int:
        """Change a small object until the server accepts it, or there is nothing left to change. Returns the answer."""
        for _ in range(_ROUNDS):
            response = await self._api.server.handle(
                self._request("POST", f"{self._folder}?dryRun=All", self._object(2))
            )
            causes = json.loads(response.body).get("details", {}).get("causes") if response.status == 422 else None
            if not causes or not self._repairs.learn(causes):
                break
        return response.status

    async def cost(self, verb: str, size: int) -> float:
        """CPU seconds of a request with so many items, and of what the server's controllers do about it."""
        path = f"{self._folder}/{self._name}"
        new = self._object(size)
        if verb != "create":
            await self._send("POST", self._folder, self._object(size, first=size // 2))
            await self._send("POST", self._folder, self._object(1))  # in case that the large one is refused
        request = {
            "create": self._request("POST", self._folder, new),
            "update": self._request("PUT", path, new),
            "patch": self._request("PATCH", path, new, self._patch_type),
            "apply": self._request("PATCH", f"{path}?fieldManager=a&force=true", new, "application/apply-patch+yaml"),
        }[verb]

        async def go() -> None:
            await self._api.server.handle(request)
            await self._api.server.settled()

        seconds = await cpu_seconds(go)
        await self._send("DELETE", path, b"")
        return seconds

    @property
    def _patch_type(self) -> str:
        return f"application/{'strategic-' if self._place.resource.builtin else ''}merge-patch+json"

    def _object(self, size: int, first: int = 0) -> bytes:
        return self._place.grown(self._name, size, first=first, same=self._same, repairs=self._repairs)

    async def _send(self, method: str, path: str, body: bytes) -> None:
        await self._api.server.handle(self._request(method, path, body))
        await self._api.server.settled()

    def _request(self, method: str, path: str, body: bytes, kind: str = "application/json") -> Request:
        headers = {"Authorization": "Bearer admin", "Content-Type": kind}
        return Request.make(method, path, body, headers)


@pytest.mark.parametrize(
    ("costs", "is_noticed"),
    [([0.1, 1.6] * 9, True), ([0.1, 0.5], False), ([0.1, 3.0, 0.1, 0.5], False), ([0.0001, 0.03], False)],
    ids=["square", "linear", "disturbed once", "too little to matter"],
)
async def test_only_costs_that_grow_too_fast_are_noticed(costs: list[float], is_noticed: bool) -> None:
    measured = iter(costs)

    async def cost(size: int) -> float:
        return next(measured)

    assert (await growth(cost, 10) > MOST) is is_noticed
