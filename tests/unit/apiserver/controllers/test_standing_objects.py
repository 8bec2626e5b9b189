"""What a server always has, and which controllers can be left out."""

from __future__ import annotations

import pytest

from nagaya.apiserver.controllers.assembly import OPTIONAL
from nagaya.apiserver.server import ApiServer, Config
from support.in_process import Api

TRUST = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
CATCH_ALL = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/catch-all"


async def test_a_server_says_whose_certificates_it_accepts(api: Api) -> None:
    found = await api.must(TRUST)
    assert found["data"] == {"client-ca-file": api.server.identity.authority.certificate_pem.decode()}


async def test_a_server_has_its_standing_objects_and_they_come_back(api: Api) -> None:
    paths = [
        TRUST,
        CATCH_ALL,
        "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/exempt",
        "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/exempt",
        "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/catch-all",
        "/apis/networking.k8s.io/v1/servicecidrs/kubernetes",
    ]
    for path in paths:
        assert await api.get(path) is not None
        await api.delete(path)
        assert await api.get(path) is not None
    assert await api.quiet()


async def test_what_they_say_is_put_right(api: Api) -> None:
    await api.merge(TRUST, {"data": {"client-ca-file": "forged"}})
    assert "BEGIN CERTIFICATE" in (await api.must(TRUST))["data"]["client-ca-file"]


async def test_controllers_can_be_left_out(api: Api) -> None:
    bare = await ApiServer.start(Config(without=OPTIONAL))
    await bare.settled()
    assert bare.store.count("serviceaccounts") == 0
    await bare.stop()


async def test_a_controller_that_does_not_exist_cannot_be_left_out() -> None:
    with pytest.raises(ValueError, match="there is no controller 'garbage collector' that can be left out"):
        await ApiServer.start(Config(without=["garbage collector"]))
