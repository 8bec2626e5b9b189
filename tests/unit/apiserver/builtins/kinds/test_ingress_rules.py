"""What an ingress may say."""

from typing import Any

import pytest

from nagaya.apiserver.builtins.kinds.ingress_rules import rules

BACKEND = {"service": {"name": "web", "port": {"number": 80}}}


def found(spec: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    return [str(error) for error in rules(spec, old)]


def at(path: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"rules": [{"http": {"paths": [{"path": path, "pathType": kind, "backend": BACKEND, **more}]}}]}


def test_an_ingress_leads_somewhere() -> None:
    assert found({}) == ["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"]
    assert found({"defaultBackend": BACKEND}) == []


@pytest.mark.parametrize(
    ("path", "kind", "problems"),
    [
        ("/", "Prefix", []),
        ("", "Prefix", ["must be an absolute path"]),
        ("", "ImplementationSpecific", []),
        ("a//b", "ImplementationSpecific", ["must be an absolute path"]),
        ("/a//b/./c/../d%2f", "Exact", [f"must not contain '{each}'" for each in ("//", "/./", "/../", "%2f")]),
        ("/a/..", "Exact", ["cannot end with '/..'"]),
    ],
)
def test_a_path_means_one_place(path: str, kind: str, problems: list[str]) -> None:
    where = "spec.rules[0].http.paths[0].path"
    assert found(at(path, kind)) == [f'{where}: Invalid value: "{path}": {each}' for each in problems]


def test_a_path_has_a_known_type() -> None:
    where = "spec.rules[0].http.paths[0].pathType"
    supported = 'supported values: "Exact", "ImplementationSpecific", "Prefix"'
    assert found(at("/", "Glob")) == [f'{where}: Unsupported value: "Glob": {supported}']
    missing = at("/", "")
    del missing["rules"][0]["http"]["paths"][0]["pathType"]
    assert found(missing) == [f"{where}: Required value: pathType must be specified"]


def test_a_backend_is_a_service_or_an_object() -> None:
    where = "spec.defaultBackend"
    assert found({"defaultBackend": {}}) == [f'{where}: Invalid value: "": resource or service backend is required']
    both = {**BACKEND, "resource": {"kind": "X", "name": "y"}}
    detail = 'Invalid value: "": cannot set both resource and service backends'
    assert found({"defaultBackend": both}) == [f"{where}: {detail}"]
    assert found({"defaultBackend": {"resource": {"apiGroup": "a.b", "kind": "a/b", "name": ""}}}) == [
        f"{where}.resource.kind: Invalid value: \"a/b\": may not contain '/'",
        f"{where}.resource.name: Required value",
    ]


def test_a_service_has_one_port() -> None:
    def with_port(port: dict[str, Any]) -> list[str]:
        return found({"defaultBackend": {"service": {"name": "1a", "port": port}}})

    assert with_port({}) == ["spec.defaultBackend: Required value: port name or number is required"]
    assert with_port({"name": "http", "number": 80}) == [
        'spec.defaultBackend: Invalid value: "": cannot set both port name & port number'
    ]
    assert with_port({"number": 70000}) == [
        "spec.defaultBackend.service.port.number: Invalid value: 70000: must be between 1 and 65535, inclusive"
    ]
    assert with_port({"name": "http"}) == []


def test_hosts_are_names_with_at_most_a_star_in_front() -> None:
    hosts = [{"host": host} for host in ("example.com", "*.example.com", "1.2.3.4", "*")]
    assert [each.partition(":")[0] for each in found({"rules": hosts})] == [
        "spec.rules[2].host",
        "spec.rules[3].host",
    ]
    tls = {"defaultBackend": BACKEND, "tls": [{"hosts": ["a", "*"], "secretName": "A"}]}
    assert [each.partition(":")[0] for each in found(tls)] == ["spec.tls[0].hosts[1]", "spec.tls[0].secretName"]


def test_what_was_broken_before_may_stay_broken() -> None:
    tls = {"defaultBackend": BACKEND, "tls": [{"secretName": "A"}]}
    assert found(tls, {"defaultBackend": BACKEND, "tls": [{"secretName": "B"}]}) == []
    wildcard = {"rules": [{"host": "*.a", "http": {"paths": []}}]}
    assert found(wildcard, wildcard) == []
    assert found(wildcard, {"defaultBackend": BACKEND}) == ["spec.rules[0].http.paths: Required value"]
