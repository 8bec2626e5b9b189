"""Tokens of service accounts that live in Secrets."""

from __future__ import annotations

import base64
from typing import Any

from support.in_process import Api

SPACE = "/api/v1/namespaces/default"


def holder(name: str = "robot-token", account: str = "robot") -> dict[str, Any]:
    marks = {"kubernetes.io/service-account.name": account}
    return {"metadata": {"name": name, "annotations": marks}, "type": "kubernetes.io/service-account-token"}


async def account(api: Api, name: str = "robot") -> dict[str, Any]:
    return await api.create(f"{SPACE}/serviceaccounts", {"metadata": {"name": name}})


async def test_a_secret_gets_the_token_and_what_is_needed_to_use_it(api: Api) -> None:
    robot = await account(api)
    await api.create(f"{SPACE}/secrets", holder())
    secret = await api.must(f"{SPACE}/secrets/robot-token")
    data = {name: base64.b64decode(value) for name, value in secret["data"].items()}
    assert data["ca.crt"] == api.server.identity.authority.certificate_pem
    assert data["namespace"] == b"default"
    assert secret["metadata"]["annotations"]["kubernetes.io/service-account.uid"] == robot["metadata"]["uid"]
    code, me = await api.ask(
        "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, user=data["token"].decode()
    )
    assert code == 201
    assert me["status"]["userInfo"]["username"] == "system:serviceaccount:default:robot"
    assert await api.quiet()


async def test_a_token_that_is_taken_out_is_made_anew_and_the_rest_is_put_right(api: Api) -> None:
    await account(api)
    await api.create(f"{SPACE}/secrets", holder())
    await api.merge(f"{SPACE}/secrets/robot-token", {"data": {"token": None, "ca.crt": "eA==", "mine": "eA=="}})
    data = (await api.must(f"{SPACE}/secrets/robot-token"))["data"]
    assert base64.b64decode(data["ca.crt"]) == api.server.identity.authority.certificate_pem
    assert data["token"]
    assert data["mine"] == "eA=="


async def test_the_secret_goes_with_its_account(api: Api) -> None:
    await account(api)
    await api.create(f"{SPACE}/secrets", holder())
    await api.create(f"{SPACE}/secrets", {"metadata": {"name": "other"}})
    await api.delete(f"{SPACE}/serviceaccounts/robot")
    assert await api.get(f"{SPACE}/secrets/robot-token") is None
    assert await api.get(f"{SPACE}/secrets/other") is not None


async def test_a_secret_for_an_account_that_is_not_there_goes(api: Api) -> None:
    await api.create(f"{SPACE}/secrets", holder(account="nobody"))
    assert await api.get(f"{SPACE}/secrets/robot-token") is None


async def test_a_secret_of_an_earlier_account_of_the_same_name_goes(api: Api) -> None:
    await account(api)
    body = holder()
    body["metadata"]["annotations"]["kubernetes.io/service-account.uid"] = "another"
    await api.create(f"{SPACE}/secrets", body)
    assert await api.get(f"{SPACE}/secrets/robot-token") is None


async def test_an_account_forgets_a_secret_that_is_gone(api: Api) -> None:
    await account(api)
    await api.create(f"{SPACE}/secrets", holder())
    await api.merge(f"{SPACE}/serviceaccounts/robot", {"secrets": [{"name": "robot-token"}, {"name": "other"}]})
    await api.delete(f"{SPACE}/secrets/robot-token")
    assert (await api.must(f"{SPACE}/serviceaccounts/robot"))["secrets"] == [{"name": "other"}]
