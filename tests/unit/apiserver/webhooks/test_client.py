"""Where webhooks are found, and what is said when they are not."""

from __future__ import annotations

import asyncio
import errno

import pytest

from nagaya.apiserver.custom.conversion import WebhookFailure
from nagaya.apiserver.meta.field_errors import Path
from nagaya.apiserver.server import ApiServer, Config
from nagaya.apiserver.storage import ABSENT, Store
from nagaya.apiserver.webhooks import words
from nagaya.apiserver.webhooks.client import WebhookClient
from nagaya.apiserver.webhooks.client_config import client_config_errors
from nagaya.apiserver.webhooks.services import Services
from nagaya.world import World


async def _put(store: Store, table: str, key: str, value: bytes, labels: dict[str, str] | None = None) -> None:
    await store.put(table, key, lambda _: value, expected=ABSENT, labels=labels)


async def test_a_service_leads_to_a_ready_endpoint_on_the_port_of_its_name() -> None:
    world = World()
    store = Store(world.clock)
    await _put(store, "services", "ns/s", b'{"spec":{"ports":[{"name":"https","port":443}]}}')
    endpoints = (
        b'{"ports":[{"name":"http","port":80},{"name":"https","port":9443}],"endpoints":['
        b'{"addresses":["10.0.0.1"],"conditions":{"ready":false}},{"addresses":["10.0.0.2"]}]}'
    )
    labels = {"kubernetes.io/service-name": "s"}
    await _put(store, "discovery.k8s.io/endpointslices", "ns/s-1", endpoints, labels)
    services = Services(store, world, {})
    assert services.address("ns", "s", 443) == ("10.0.0.2", 9443)
    with pytest.raises(WebhookFailure, match="no service port 8443 found"):
        services.address("ns", "s", 8443)


def test_an_address_set_by_hand_needs_no_service() -> None:
    world = World()
    services = Services(Store(world.clock), world, {"ns/s": "127.0.0.1:9443", "ns/six": "[::1]:9443"})
    assert services.address("ns", "s", 443) == ("127.0.0.1", 9443)
    assert services.address("ns", "six", 443) == ("::1", 9443)
    with pytest.raises(ValueError, match="must be host:port"):
        Services(Store(world.clock), world, {"ns/s": "nowhere"})


@pytest.mark.parametrize(
    ("code", "content_type", "body", "expected"),
    [
        (500, "text/plain", b"boom\n", 'an error on the server ("boom") has prevented the request from succeeding'),
        (
            500,
            "application/json",
            b"{}",
            'an error on the server ("unknown") has prevented the request from succeeding',
        ),
        (403, "text/plain", b"go away", "go away"),
        (503, "", b"", "the server is currently unable to handle the request"),
        (418, "", b"", "the server responded with the status code 418 but did not return more information"),
        (500, "application/json", b'{"kind":"Status","message":"said"}', "said"),
    ],
)
def test_an_error_code_is_told_as_a_go_client_tells_it(
    code: int, content_type: str, body: bytes, expected: str
) -> None:
    assert words.of_status(code, content_type, body) == expected


def test_a_network_failure_names_the_address() -> None:
    error = OSError(errno.ECONNREFUSED, "refused")
    assert words.of_connection(error, "10.0.0.1:443", "x") == "dial tcp 10.0.0.1:443: connect: connection refused"


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, ["c: Required value: exactly one of url or service is required"]),
        ({"url": "https://a/x"}, []),
        ({"service": {"name": "a", "namespace": "b", "path": "/x/y"}}, []),
        ({"service": {"name": "a", "namespace": "b", "path": "/x//y"}}, ["segment[1] may not be empty"]),
        ({"url": "http://a"}, ["'https' is the only allowed URL scheme"]),
    ],
)
def test_a_client_configuration_names_one_reachable_place(config: dict[str, object], expected: list[str]) -> None:
    found = [str(each) for each in client_config_errors(config, Path("c"))]
    assert len(found) == len(expected)
    assert all(part in text for part, text in zip(expected, found, strict=True))


async def test_a_connection_that_was_closed_meanwhile_is_opened_again() -> None:
    tries: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tries.append(await reader.readuntil(b"\r\n\r\n"))
        if len(tries) > 1:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n" + b'{"kind":"x"}')
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    api = await ApiServer.start(Config())
    client = WebhookClient(api.backend)
    try:
        # Configurations never lead here without TLS; the client itself does not insist.
        answer = await client.call({"url": f"http://127.0.0.1:{port}/x"}, {"a": 1}, 5, name="test")
    finally:
        await client.close()
        await api.stop()
        server.close()
    assert answer == {"kind": "x"}
    assert len(tries) == 2
    assert tries[0].startswith(b"POST /x?timeout=5s HTTP/1.1\r\n")
