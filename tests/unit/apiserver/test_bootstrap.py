"""What a server has from its first moment, and where the Service that leads to itself leads."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.apiserver.bootstrap import bootstrap
from nagaya.apiserver.server import ApiServer, Config
from support.in_process import ADMIN, Api, MovingClock

ENDPOINTS = "/api/v1/namespaces/default/endpoints/kubernetes"
SLICE = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"
PORTS = [{"name": "https", "port": 6443, "protocol": "TCP"}]


async def published(host: str, *addresses: str, then: str = "") -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    server = await ApiServer.start(Config(tokens={"admin": ADMIN}))
    await bootstrap(server.backend, host, 6443, addresses)
    if then:
        await bootstrap(server.backend, then, 6443)
    await server.settled()
    api = Api(server, MovingClock())
    found = await api.get(ENDPOINTS), await api.get(SLICE)
    await server.stop()
    return found


async def test_a_server_that_others_can_reach_is_published_in_both_forms() -> None:
    endpoints, slice_ = await published("192.0.2.7")
    assert endpoints is not None
    assert slice_ is not None
    assert endpoints["subsets"] == [{"addresses": [{"ip": "192.0.2.7"}], "ports": PORTS}]
    assert endpoints["metadata"]["labels"] == {"endpointslice.kubernetes.io/skip-mirror": "true"}
    assert slice_["endpoints"] == [{"addresses": ["192.0.2.7"], "conditions": {"ready": True}}]
    assert slice_["ports"] == PORTS


async def test_one_that_listens_on_loopback_is_known_by_the_machine_but_not_ready() -> None:
    endpoints, slice_ = await published("127.0.0.1", "fe80::1", "192.0.2.9")
    assert endpoints is not None
    assert slice_ is not None
    assert endpoints["subsets"] == [{"notReadyAddresses": [{"ip": "192.0.2.9"}], "ports": PORTS}]
    assert slice_["endpoints"] == [{"addresses": ["192.0.2.9"], "conditions": {"ready": False}}]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "localhost"])
async def test_one_that_listens_everywhere_is_ready_at_the_machines_address(host: str) -> None:
    endpoints, _ = await published(host, "host.example.com", "192.0.2.9")
    assert endpoints is not None
    assert endpoints["subsets"][0]["addresses"] == [{"ip": "192.0.2.9"}]


async def test_without_an_address_nothing_is_published() -> None:
    assert await published("127.0.0.1") == (None, None)


@pytest.mark.parametrize("then", ["192.0.2.8", "2001:db8::8"])
async def test_a_server_that_moved_says_so(then: str) -> None:
    endpoints, slice_ = await published("192.0.2.7", then=then)
    assert endpoints is not None
    assert slice_ is not None
    assert endpoints["subsets"][0]["addresses"] == [{"ip": then}]
    assert slice_["endpoints"][0]["addresses"] == [then]


async def test_missing_roles_are_made_unless_the_server_has_them_from_another() -> None:
    server = await ApiServer.start(Config(tokens={"admin": ADMIN}))
    api = Api(server, MovingClock())
    role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:basic-user"
    assert (await api.ask("DELETE", role))[0] == 200
    await bootstrap(server.backend, "127.0.0.1", 6443, seeded=True)
    assert (await api.ask("GET", role))[0] == 404
    await bootstrap(server.backend, "127.0.0.1", 6443)
    assert (await api.ask("GET", role))[0] == 200
    await server.stop()
