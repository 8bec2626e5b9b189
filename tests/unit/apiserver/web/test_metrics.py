"""The figures that Prometheus reads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from prometheus_client.parser import text_string_to_metric_families

from nagaya.apiserver.web.observer import ended
from nagaya.apiserver.web.request import Request
from support.in_process import Api

Start = Callable[..., Awaitable[Api]]
MAPS = "/api/v1/namespaces/default/configmaps"


async def figures(api: Api) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    request = Request.make("GET", "/metrics", headers={"Authorization": "Bearer admin"})
    response = await api.server.handle(request)
    assert response.status == 200
    assert response.content_type.startswith("text/plain")
    families = text_string_to_metric_families(response.body.decode())
    return {(s.name, frozenset(s.labels.items())): s.value for family in families for s in family.samples}


def total(found: dict[tuple[str, frozenset[tuple[str, str]]], float], name: str, /, **labels: str) -> float:
    return sum(value for (each, given), value in found.items() if each == name and labels.items() <= set(given))


async def test_requests_are_counted_by_what_they_asked_for_and_how_they_ended(start: Start) -> None:
    api = await start(metrics=True)
    await api.config_map("a")
    await api.ask("GET", f"{MAPS}/a")
    await api.ask("GET", f"{MAPS}/b")
    await api.ask("GET", MAPS)
    found = await figures(api)
    here = {"group": "", "version": "v1", "resource": "configmaps"}
    assert total(found, "apiserver_request_total", verb="POST", code="201", **here) == 1
    assert total(found, "apiserver_request_total", verb="GET", code="200", **here) == 1
    assert total(found, "apiserver_request_total", verb="GET", code="404", **here) == 1
    assert total(found, "apiserver_request_total", verb="LIST", code="200", **here) == 1
    assert total(found, "apiserver_request_duration_seconds_count", verb="GET", **here) == 2
    assert total(found, "apiserver_current_inflight_requests", request_kind="mutating") == 0


async def test_names_that_clients_invent_do_not_become_figures(start: Start) -> None:
    api = await start(metrics=True)
    for number in range(5):
        await api.ask("GET", f"/apis/group{number}.example/v1/things{number}")
        await api.ask("GET", f"/api/v1/namespaces/default/things{number}", user="stranger")
    found = await figures(api)
    assert not [labels for _, labels in found if any("things" in value for _, value in labels)]
    assert total(found, "apiserver_request_total", code="404") == 5
    assert total(found, "apiserver_request_total", code="401") == 5


async def test_streams_are_counted_while_they_are_open(start: Start) -> None:
    api = await start(metrics=True)
    request = Request.make("GET", f"{MAPS}?watch=true", headers={"Authorization": "Bearer admin"})
    response = await api.server.handle(request)
    assert response.stream is not None
    stream = response.stream
    await anext(stream)
    found = await figures(api)
    assert total(found, "apiserver_longrunning_requests", resource="configmaps", verb="WATCH") == 1
    assert total(found, "apiserver_watch_events_total", resource="configmaps") >= 1
    await ended(stream)
    assert total(await figures(api), "apiserver_longrunning_requests") == 0


async def test_the_store_and_the_controllers_are_told_of(start: Start) -> None:
    api = await start(metrics=True)
    found = await figures(api)
    assert total(found, "apiserver_resource_objects", resource="namespaces") == 4
    assert total(found, "apiserver_resource_objects", resource="clusterroles.rbac.authorization.k8s.io") > 10
    assert total(found, "nagaya_storage_revision") == api.server.store.revision
    assert total(found, "workqueue_depth", name="garbage collector") == 0
    assert ("workqueue_retries_total", frozenset({("name", "garbage collector")})) in found


async def test_the_figures_are_not_for_everyone(start: Start) -> None:
    api = await start(metrics=True)
    code, refusal = await api.ask("GET", "/metrics", user="nobody")
    assert code == 403
    assert 'cannot get path "/metrics"' in refusal["message"]


async def test_a_server_without_metrics_has_no_such_path(start: Start) -> None:
    api = await start()
    response = await api.server.handle(Request.make("GET", "/metrics", headers={"Authorization": "Bearer admin"}))
    assert response.status == 404


async def test_servers_do_not_share_figures(start: Start) -> None:
    first, second = await start(metrics=True), await start(metrics=True)
    await first.ask("GET", MAPS)
    assert total(await figures(second), "apiserver_request_total", resource="configmaps") == 0
