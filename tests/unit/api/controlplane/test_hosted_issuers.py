from __future__ import annotations

from typing import Any

import pytest

from nagaya.api.controlplane.hosted_issuers import issuer_problems, url_problem

PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


@pytest.mark.parametrize(
    "url",
    [
        "https://issuer.example",
        "https://login.example.com/realms/one",
        "https://login.example.com:8443/realms/one/",
        "https://10.1.2.3:8443",
        "https://[fd00:10::5]/dex",
        "https://Issuer.Example.",
    ],
)
def test_issuers_of_a_company_are_accepted(url: str) -> None:
    assert url_problem(url) == ""


@pytest.mark.parametrize(
    "url",
    [
        "http://issuer.example",
        "HTTP://issuer.example",
        "file:///etc/shadow",
        "unix:///run/x.sock",
        "issuer.example",
        "https://",
        "https:///path",
        "https://user@issuer.example",
        "https://issuer.example@127.0.0.1",
        "https://issuer.example?x=1",
        "https://issuer.example#x",
        "https://issuer.example\n",
        "https://issuer.example\\@127.0.0.1/",
        "https://issuer.example:port",
        "https://issüer.example",
        "https://[fe80::1%25eth0]/",
        "https://%6c%6f%63alhost/",
        "",
        "https://" + "a" * 3000,
    ],
)
def test_what_is_no_plain_https_url_is_refused(url: str) -> None:
    assert url_problem(url).startswith("must be a URL that begins with https://")


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST",
        "localhost.",
        "a.localhost",
        "localhost.localdomain",
        "127.0.0.1",
        "127.255.0.9",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "0",
        "0.0.0.0",
        "169.254.169.254",
        "169.254.0.1",
        "100.100.100.200",
        "168.63.129.16",
        "224.0.0.1",
        "metadata.google.internal",
        "metadata.goog",
        "metadata",
        "router",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:a9fe:a9fe]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[fe80::1]",
        "[ff02::1]",
        "[fd00:ec2::254]",
        "[FD00:EC2::254]",
    ],
)
def test_the_machine_itself_and_metadata_services_are_refused(host: str) -> None:
    for url in (f"https://{host}", f"https://{host}:6443/x"):
        assert "must not lead to" in url_problem(url) or url_problem(url).startswith("must be a URL")


def paths(entry: dict[str, Any]) -> list[str]:
    return [path for path, _ in issuer_problems(entry)]


def test_an_entry_as_kubernetes_has_it_is_accepted() -> None:
    entry = {
        "issuer": {
            "url": "https://issuer.example",
            "discoveryURL": "https://keys.example/.well-known/openid-configuration",
            "certificateAuthority": PEM + PEM,
            "audiences": ["one"],
            "audienceMatchPolicy": "MatchAny",
            "egressSelectorType": "cluster",
        },
        "claimMappings": {"username": {"claim": "sub", "prefix": ""}},
        "claimValidationRules": [{"expression": "claims.hd == 'example.com'", "message": "x"}],
        "userValidationRules": [{"expression": "!user.username.startsWith('system:')"}],
    }
    assert paths(entry) == []


@pytest.mark.parametrize(
    ("entry", "path"),
    [
        ({}, "issuer"),
        ({"issuer": "https://x.example"}, "issuer"),
        ({"issuer": {"audiences": ["x"]}}, "issuer.url"),
        ({"issuer": {"url": "https://x.example", "discoveryURL": "https://localhost/x"}}, "issuer.discoveryURL"),
        ({"issuer": {"url": "https://x.example", "discoveryURL": None}}, "issuer.discoveryURL"),
        ({"issuer": {"url": "https://x.example", "certificateAuthorityFile": "/etc/x"}}, "issuer"),
        ({"issuer": {"url": "https://x.example"}, "users": []}, "issuer"),
        ({"issuer": {"url": "https://x.example", "certificateAuthority": "kind: Config\n" + PEM}}, "CA"),
        ({"issuer": {"url": "https://x.example", "certificateAuthority": PEM * 33}}, "CA"),
        ({"issuer": {"url": "https://x.example", "certificateAuthority": "/etc/ssl/ca.crt"}}, "CA"),
        ({"issuer": {"url": "https://x.example", "certificateAuthority": ["x"]}}, "CA"),
    ],
    ids=range(11),
)
def test_what_reaches_further_is_refused_by_its_path(entry: dict[str, Any], path: str) -> None:
    assert paths(entry) == [path.replace("CA", "issuer.certificateAuthority")]
