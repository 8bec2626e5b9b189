from __future__ import annotations

from typing import Any

import pytest
import yaml

from nagaya.controlplane.hosted.components import configuration
from support.certificates import AUTHORITY
from support.hosted_tenancies import FULL, SQL, pod_facts


def read(spec: dict[str, Any] | None = None) -> dict[str, Any]:
    return {name: yaml.safe_load(text) for name, text in configuration.files(pod_facts(spec, SQL)).items()}


def test_only_health_and_what_joining_needs_can_be_asked_by_anybody() -> None:
    found = read()[configuration.AUTHENTICATION]

    assert found["apiVersion"] == "apiserver.config.k8s.io/v1"
    assert found["anonymous"]["enabled"] is True
    assert [each["path"] for each in found["anonymous"]["conditions"]] == [
        "/healthz",
        "/livez",
        "/readyz",
        "/api/v1/namespaces/kube-public/configmaps/cluster-info",
    ]
    assert "jwt" not in found


def test_issuers_of_tokens_are_passed_on() -> None:
    issuer = {
        "issuer": {"url": "https://id.example", "audiences": ["one"]},
        "claimMappings": {"username": {"claim": "sub", "prefix": ""}},
    }
    found = read({"version": "v1.36.3", "apiServer": {"authentication": {"jwt": [issuer]}}})

    assert found[configuration.AUTHENTICATION]["jwt"] == [issuer]


def test_the_audit_policy_never_writes_contents_down() -> None:
    rules = read()[configuration.AUDIT_POLICY]["rules"]

    assert {each["level"] for each in rules} == {"None", "Metadata"}
    assert rules[-1] == {"level": "Metadata", "omitManagedFields": True}
    secrets = next(each for each in rules if "secrets" in str(each))
    assert secrets["level"] == "Metadata"
    assert all(each["level"] != "None" or "system:nodes" not in str(each) for each in rules[: rules.index(secrets)])


def test_the_users_audit_policy_replaces_ours_and_is_a_policy() -> None:
    own = {"rules": [{"level": "RequestResponse"}], "kind": "Something"}
    found = read({"version": "v1.36.3", "apiServer": {"audit": {"policy": own}}})[configuration.AUDIT_POLICY]

    assert found == {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "RequestResponse"}]}


def test_issuers_and_policies_that_admission_refuses_get_into_no_file() -> None:
    certificate = AUTHORITY.certificate_pem.decode()
    good = {"issuer": {"url": "https://id.example", "certificateAuthority": certificate.replace("\n", "\r\n")}}
    bad = [
        {"issuer": {"url": "https://127.0.0.1:10250"}},
        {"issuer": {"url": "https://id.example", "certificateAuthority": "kind: Config\n" + certificate}},
        {"issuer": {"url": "https://id.example"}, "users": [{"user": {"exec": {"command": "sh"}}}]},
    ]
    policy = {"users": [{"user": {"exec": {"command": "sh"}}}], "omitStages": ["RequestReceived"]}
    found = read(
        {"version": "v1.36.3", "apiServer": {"authentication": {"jwt": [*bad, good]}, "audit": {"policy": policy}}}
    )

    (entry,) = found[configuration.AUTHENTICATION]["jwt"]
    assert entry["issuer"]["certificateAuthority"] == certificate
    assert found[configuration.AUDIT_POLICY] == {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
    }


def test_an_issuer_whose_certificate_cannot_be_read_is_named() -> None:
    text = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    issuer = {"issuer": {"url": "https://id.example", "certificateAuthority": text}}
    with pytest.raises(ValueError, match=r"certificateAuthority of https://id\.example in authentication\.jwt"):
        read({"version": "v1.36.3", "apiServer": {"authentication": {"jwt": [issuer]}}})


def test_pods_are_judged_as_asked_and_the_systems_own_are_exempt() -> None:
    plain, full = (read(spec)[configuration.ADMISSION]["plugins"][0]["configuration"] for spec in (None, FULL))

    assert plain["defaults"]["enforce"] == "privileged"
    assert full["defaults"]["enforce"] == "baseline"
    assert full["exemptions"]["namespaces"] == ["kube-system"]


def test_there_is_a_way_out_only_with_a_tunnel() -> None:
    assert configuration.EGRESS not in read()
    (selection,) = read(FULL)[configuration.EGRESS]["egressSelections"]
    assert selection == {
        "name": "cluster",
        "connection": {
            "proxyProtocol": "GRPC",
            "transport": {"uds": {"udsName": "/run/nagaya/konnectivity-server.sock"}},
        },
    }


def test_settings_that_are_nested_too_deeply_are_a_problem_of_their_own() -> None:
    rule: Any = "x"
    for _ in range(500):
        rule = {"a": rule}
    with pytest.raises(
        ValueError, match=r"audit\.policy or authentication\.jwt of spec\.apiServer is nested too deeply"
    ):
        read({"version": "v1.36.3", "apiServer": {"audit": {"policy": {"rules": [rule]}}}})
