"""When the server renews its Lease."""

from __future__ import annotations

from datetime import timedelta

from nagaya.apiserver.controllers.server_lease import ServerLease
from support.in_process import Api

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/apiserver-nagaya"


def controller(api: Api) -> ServerLease:
    found = api.server._runner._controllers["server lease"]
    assert isinstance(found, ServerLease)
    return found


async def renewed(api: Api) -> str:
    time: str = (await api.must(LEASE))["spec"]["renewTime"]
    return time


async def test_a_server_has_a_lease(api: Api) -> None:
    found = await api.must(LEASE)
    assert found["metadata"]["labels"] == {"apiserver.kubernetes.io/identity": "kube-apiserver"}
    assert found["spec"]["leaseDurationSeconds"] == 3600
    assert await renewed(api) == "2026-11-01T12:00:00.000000Z"
    await api.delete(LEASE)
    assert await api.get(LEASE) is not None
    assert await api.quiet()


async def test_it_is_renewed_a_minute_after_the_last_time_if_something_was_written(api: Api) -> None:
    await api.config_map("one")
    api.clock.passed = timedelta(seconds=20)
    assert await controller(api).sync("") == 40
    api.clock.passed = timedelta(seconds=61)
    assert await controller(api).sync("") is None
    assert await renewed(api) == "2026-11-01T12:01:01.000000Z"


async def test_the_renewal_of_another_lease_is_no_reason(api: Api) -> None:
    api.clock.passed = timedelta(minutes=2)
    await controller(api).sync("")  # for what was written at the start
    before = await renewed(api)
    await api.server.settled()
    await api.create("/apis/coordination.k8s.io/v1/namespaces/default/leases", {"metadata": {"name": "other"}})
    api.clock.passed = timedelta(minutes=4)
    assert await controller(api).sync("") is None
    assert await renewed(api) == before


async def test_an_idle_server_does_not_renew_it(api: Api) -> None:
    api.clock.passed = timedelta(minutes=2)
    await controller(api).sync("")  # for what was written at the start
    before = await renewed(api)
    await api.server.settled()
    api.clock.passed = timedelta(hours=5)
    assert await controller(api).sync("") is None
    assert await api.quiet()
    assert await renewed(api) == before
