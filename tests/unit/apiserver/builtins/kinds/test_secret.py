"""Secrets: plain texts, types and their demands."""

import pytest

from nagaya.apiserver.builtins.kinds.secret import SecretStrategy
from support.core_kinds import CoreKinds


async def test_plain_texts_become_data_and_win() -> None:
    secret = await CoreKinds().create("secrets", {"data": {"a": "eA==", "b": "eQ=="}, "stringData": {"a": "ü"}})
    assert secret["data"] == {"a": "w7w=", "b": "eQ=="}
    assert "stringData" not in secret
    assert secret["type"] == "Opaque"


@pytest.mark.parametrize(
    ("kind", "texts", "found"),
    [
        (
            "service-account-token",
            {},
            ["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
        ),
        ("dockercfg", {}, ["data[.dockercfg]: Required value"]),
        ("dockerconfigjson", {}, ["data[.dockerconfigjson]: Required value"]),
        ("basic-auth", {}, ["data[username]: Required value", "data[password]: Required value"]),
        ("ssh-auth", {"ssh-privatekey": ""}, ["data[ssh-privatekey]: Required value"]),
        ("tls", {"tls.crt": "x"}, ["data[tls.key]: Required value"]),
    ],
)
async def test_a_type_has_demands(kind: str, texts: dict[str, str], found: list[str]) -> None:
    secret = {"type": f"kubernetes.io/{kind}", "stringData": texts}
    assert await CoreKinds().refused("secrets", secret) == found


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "unexpected end of JSON input"),
        ("x", "invalid character 'x' looking for beginning of value"),
        ("[]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ("1.5", "json: cannot unmarshal number into Go value of type map[string]interface {}"),
    ],
)
async def test_what_is_wrong_with_a_docker_configuration_is_said_without_showing_it(text: str, problem: str) -> None:
    secret = {"type": "kubernetes.io/dockercfg", "stringData": {".dockercfg": text}}
    found = await CoreKinds().refused("secrets", secret)
    assert found == [f'data[.dockercfg]: Invalid value: "<secret contents redacted>": {problem}']


async def test_the_type_stays() -> None:
    kinds = CoreKinds()
    await kinds.create("secrets", {})
    assert await kinds.change_refused("secrets", "it", {"type": "other"}) == [
        'type: Invalid value: "other": field is immutable'
    ]


def test_secrets_can_be_selected_by_type() -> None:
    strategy = SecretStrategy()
    assert strategy.field_label("type") == "type"
    assert strategy.select({"type": "x"}) == {"type": "x"}
    with pytest.raises(ValueError, match="field label not supported: data"):
        strategy.field_label("data")
