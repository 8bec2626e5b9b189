from __future__ import annotations

from typing import Any

import pytest

from nagaya.api.admission.extension_config import default, validate
from support.subtest_cases import subtest_cases

SERVICE = {"name": "hooks", "namespace": "system"}


def config(name: str = "ext", **client: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"clientConfig": client, "namespaceSelector": {}}}


def fields(content: dict[str, Any]) -> list[str]:
    return [error.field for error in validate(content, None)]


def test_what_was_left_out_is_filled_in() -> None:
    spec = default({"spec": {"clientConfig": {"service": SERVICE}}}, None)["spec"]
    assert spec == {"clientConfig": {"service": {**SERVICE, "port": 443}}, "namespaceSelector": {}}
    assert "port" not in str(default({"spec": {"clientConfig": {"url": "https://a"}}}, None))


@pytest.mark.parametrize(
    "client", [{"url": "https://example.com/x"}, {"service": {**SERVICE, "path": "/a", "port": 65535}}]
)
def test_usual_configurations_are_fine(client: dict[str, Any]) -> None:
    assert fields(config(**client)) == []


@subtest_cases(
    ("content", "expected"),
    [
        (config(), ["spec.clientConfig"]),
        (config(url="https://a", service=SERVICE), ["spec.clientConfig"]),
        (config(url="http://a"), ["spec.clientConfig.url"]),
        (config(url="a"), ["spec.clientConfig.url"]),
        (config("Not.A.Label", url="https://a"), ["metadata.name"]),
        (config(service={**SERVICE, "name": "1a"}), ["spec.clientConfig.service.name"]),
        (config(service={**SERVICE, "namespace": "A"}), ["spec.clientConfig.service.namespace"]),
        (config(service={**SERVICE, "port": 0}), ["spec.clientConfig.service.port"]),
        (config(service={**SERVICE, "path": "a"}), ["spec.clientConfig.service.path"] * 2),
    ],
)
def test_what_is_wrong_is_named(content: dict[str, Any], expected: list[str]) -> None:
    assert fields(content) == expected
