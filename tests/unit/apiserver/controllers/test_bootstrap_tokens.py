"""Bootstrap tokens sign `cluster-info` while they are good, and then go."""

from __future__ import annotations

import base64
from datetime import timedelta
from typing import Any

from nagaya.apiserver.controllers.bootstrap_signer import BootstrapSigner, signature
from nagaya.apiserver.controllers.token_cleaner import TokenCleaner
from support.in_process import Api

INFO = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
SECRETS = "/api/v1/namespaces/kube-system/secrets"


def token(number: str = "abcdef", **data: str) -> dict[str, Any]:
    held = {"token-id": number, "token-secret": "0123456789abcdef", "usage-bootstrap-signing": "true", **data}
    return {
        "metadata": {"name": f"bootstrap-token-{number}"},
        "type": "bootstrap.kubernetes.io/token",
        "data": {name: base64.b64encode(value.encode()).decode() for name, value in held.items() if value},
    }


async def publish(api: Api) -> None:
    body = {"metadata": {"name": "cluster-info"}, "data": {"kubeconfig": "config"}}
    await api.create("/api/v1/namespaces/kube-public/configmaps", body)


def test_a_signature_has_the_bytes_that_kubeadm_expects() -> None:
    content = "Hello from the other side. I must have called a thousand times."
    made = signature(content, "joshua", "my voice is my passcode")
    assert made == "eyJhbGciOiJIUzI1NiIsImtpZCI6Impvc2h1YSJ9..VShe2taLd-YTrmWuRkcL_8QTNDHYxQIEBsAYYiIj1_8"


async def test_the_information_is_signed_with_every_token_that_may(api: Api) -> None:
    await api.create(SECRETS, token())
    await publish(api)
    await api.create(SECRETS, token("fedcba"))
    await api.create(SECRETS, token("nosign", **{"usage-bootstrap-signing": "false"}))
    data = (await api.must(INFO))["data"]
    assert data == {
        "kubeconfig": "config",
        "jws-kubeconfig-abcdef": signature("config", "abcdef", "0123456789abcdef"),
        "jws-kubeconfig-fedcba": signature("config", "fedcba", "0123456789abcdef"),
    }
    assert await api.quiet()


async def test_signatures_follow_the_content_and_the_tokens(api: Api) -> None:
    await publish(api)
    await api.create(SECRETS, token())
    await api.merge(INFO, {"data": {"kubeconfig": "other", "jws-kubeconfig-forged": "x"}})
    data = (await api.must(INFO))["data"]
    assert data["jws-kubeconfig-abcdef"] == signature("other", "abcdef", "0123456789abcdef")
    assert "jws-kubeconfig-forged" not in data
    await api.delete(f"{SECRETS}/bootstrap-token-abcdef")
    assert (await api.must(INFO))["data"] == {"kubeconfig": "other"}


async def test_nothing_is_made_while_there_is_no_information(api: Api) -> None:
    await api.create(SECRETS, token())
    assert await api.get(INFO) is None


async def test_an_expired_token_signs_no_more_and_goes(api: Api) -> None:
    await publish(api)
    await api.create(SECRETS, token(expiration="2026-11-01T13:00:00Z"))
    cleaner, signer = TokenCleaner(api.server.backend), BootstrapSigner(api.server.backend)
    key = "kube-system/bootstrap-token-abcdef"
    assert await cleaner.sync(key) == 3600
    assert await signer.sync("kube-public/cluster-info") == 3600
    api.clock.passed = timedelta(hours=1)
    await signer.sync("kube-public/cluster-info")
    assert (await api.must(INFO))["data"] == {"kubeconfig": "config"}
    assert await cleaner.sync(key) is None
    assert await api.get(f"{SECRETS}/bootstrap-token-abcdef") is None


async def test_other_secrets_are_left_alone(api: Api) -> None:
    body = {"metadata": {"name": "s"}, "data": {"expiration": base64.b64encode(b"2020-01-01T00:00:00Z").decode()}}
    await api.create(SECRETS, body)
    assert await TokenCleaner(api.server.backend).sync("kube-system/s") is None
    assert await api.get(f"{SECRETS}/s") is not None
