from __future__ import annotations

import pytest

from unit.apiserver.web.conftest import Start


@pytest.mark.parametrize("path", ["/api", "/api/v1", "/apis/apps/v1"])
@pytest.mark.parametrize("method", ["POST", "HEAD", "DELETE"])
async def test_documents_can_only_be_read(start: Start, method: str, path: str) -> None:
    api = await start()

    code, answer = await api.ask(method, path)

    assert code == 405
    assert answer["reason"] == "MethodNotAllowed"


async def test_the_oldest_list_of_resources_does_not_say_its_version(start: Start) -> None:
    api = await start()

    assert list(await api.must("/api/v1")) == ["kind", "groupVersion", "resources"]
    assert list(await api.must("/apis/apps/v1")) == ["kind", "apiVersion", "groupVersion", "resources"]
