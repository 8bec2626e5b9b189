from __future__ import annotations

from dataclasses import replace

from nagaya.apiserver.server import ApiServer, Config
from nagaya.world import World
from support.in_process import ADMIN, Api, MovingClock

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


async def test_a_kind_that_took_the_place_of_one_that_is_gone_has_its_own_document() -> None:
    clock = MovingClock()
    server = await ApiServer.start(Config(tokens={"admin": ADMIN}), World(clock=clock))
    api = Api(server, clock)
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    names = {"plural": "boats", "singular": "boat", "kind": "Boat"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    await api.create(DEFINITIONS, {"metadata": {"name": "boats.example.com"}, "spec": spec})
    catalog = server.backend.catalog
    boats = catalog.get("example.com", "v1", "boats")
    assert boats is not None

    described = []
    for number in range(20):
        # Of two that follow each other, the second is likely to get the memory that the one before both has left.
        catalog.add([replace(boats, kind=f"Passing{number}")])
        catalog.add([replace(boats, kind=f"Boat{number}")])
        document = await api.must("/openapi/v3/apis/example.com/v1")
        creation = document["paths"]["/apis/example.com/v1/namespaces/{namespace}/boats"]["post"]
        described.append(creation["x-kubernetes-group-version-kind"]["kind"])

    await server.stop()
    assert described == [f"Boat{number}" for number in range(20)]
