from __future__ import annotations

from typing import Any

import orjson
import pytest

from nagaya.apiserver.web.request import Request, Response
from support.in_process import Api
from unit.apiserver.web.conftest import Start

NAMESPACE = "/api/v1/namespaces/default"
TABLE = "application/json;as=Table;v={};g=meta.k8s.io"


async def answer(api: Api, path: str, method: str = "GET", body: bytes = b"", **headers: str) -> Response:
    sent = {"Authorization": "Bearer admin", "Content-Type": "application/json", "User-Agent": "test", **headers}
    return await api.server.handle(Request.make(method, path, body, sent))


@pytest.mark.parametrize("wish", ["", "0s", "-1s", "32s", "10m"])
async def test_a_client_may_say_how_long_its_request_may_take(start: Start, wish: str) -> None:
    assert (await answer(await start(), f"{NAMESPACE}?timeout={wish}")).status == 200


@pytest.mark.parametrize("path", [NAMESPACE, "/version", "/api/v1/namespaces"])
async def test_a_time_that_is_none_is_refused_whatever_is_asked_for(start: Start, path: str) -> None:
    api = await start()

    code, said = await api.ask("GET", f"{path}?timeout=soon")

    assert code == 400
    assert said["message"] == 'invalid timeout specified in the request URL - time: invalid duration "soon"'


async def test_a_watch_has_a_time_of_its_own(start: Start) -> None:
    response = await answer(await start(), "/api/v1/namespaces?watch=1&timeout=soon&timeoutSeconds=1")

    assert response.status == 200
    assert response.stream is not None


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_rows_of_a_table_are_of_its_version(start: Start, version: str) -> None:
    api = await start()

    table: dict[str, Any] = orjson.loads((await answer(api, NAMESPACE, Accept=TABLE.format(version))).body)

    assert table["apiVersion"] == f"meta.k8s.io/{version}"
    assert table["rows"][0]["object"]["apiVersion"] == f"meta.k8s.io/{version}"


async def test_a_refusal_is_in_the_first_plain_form_that_the_client_takes(start: Start) -> None:
    api = await start()

    plain = await answer(api, "/api/v1/namespaces/none", Accept=f"{TABLE.format('v1')},application/json")
    only_table = await answer(api, "/api/v1/namespaces/none", Accept=TABLE.format("v1"))

    assert (plain.status, only_table.status) == (404, 404)
    assert plain.body.startswith(b'{"kind":"Status"')
    assert only_table.body.startswith(b'{\n  "kind": "Status"')


async def test_a_browser_is_told_not_to_guess_what_a_refusal_is(start: Start) -> None:
    api = await start()

    refused = await answer(api, NAMESPACE, Authorization="Bearer nobody")
    nowhere = await answer(api, "/nowhere")

    assert (refused.status, nowhere.status) == (403, 404)
    for response in (refused, nowhere):
        assert ("X-Content-Type-Options", "nosniff") in response.headers


async def test_a_list_cannot_be_had_as_the_metadata_of_one_object(start: Start) -> None:
    api = await start()
    response = await answer(
        api, "/apis/apps/v1/deployments", Accept="application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
    )

    assert response.status == 406
    assert b"the requested object is a list (*apps.DeploymentList)" in response.body


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"x", b"couldn't get version/kind; json parse error: invalid character 'x'"),
        (b'{"kind":"Pod","apiVersion":"v1"}', b'no kind \\"Pod\\" is registered for version \\"v1\\"'),
    ],
)
async def test_a_deletion_is_not_taken_for_one_with_other_options(start: Start, body: bytes, said: bytes) -> None:
    api = await start()

    response = await answer(api, f"{NAMESPACE}/configmaps/kube-root-ca.crt", "DELETE", body)

    assert response.status == 400
    assert said in response.body
