from __future__ import annotations

import gzip

import pytest

from nagaya.apiserver.web.compression import THRESHOLD, compress
from nagaya.apiserver.web.request import Request, Response

LONG = b"[" + b"1," * THRESHOLD + b"1]"


async def answer(body: bytes, accepted: str) -> Response:
    response = Response(200, body)
    await compress(Request.make("GET", "/", b"", {"Accept-Encoding": accepted}), response)
    return response


@pytest.mark.parametrize("accepted", ["gzip", "deflate, gzip", "gzip, br"])
async def test_a_long_answer_is_compressed_for_those_who_ask(accepted: str) -> None:
    response = await answer(LONG, accepted)

    assert gzip.decompress(response.body) == LONG
    assert len(response.body) < len(LONG) / 10
    assert dict(response.headers) == {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}


@pytest.mark.parametrize("accepted", ["", "*", "gzip;q=0", "deflate"])
async def test_others_get_it_as_it_is(accepted: str) -> None:
    response = await answer(LONG, accepted)

    assert response.body is LONG
    assert response.headers == []


async def test_a_short_answer_is_not_worth_it() -> None:
    assert (await answer(b"x" * THRESHOLD, "gzip")).body == b"x" * THRESHOLD
