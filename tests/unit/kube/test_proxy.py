from __future__ import annotations

import base64

import pytest

from nagaya.kube.proxy import proxy_for
from support.subtest_cases import subtest_cases

PROXY = {"HTTPS_PROXY": "http://proxy:3128"}


@subtest_cases(
    ("server", "excluded", "used"),
    [
        ("https://api.example.com:6443", "", True),
        ("https://api.example.com:6443", "example.com", False),
        ("https://api.example.com:6443", ".example.com", False),
        ("https://example.com", ".example.com", True),
        ("https://example.com", "*.example.com", True),
        ("https://api.example.com", "*.example.com", False),
        ("https://badexample.com", "example.com", True),
        ("https://API.Example.com", "other, example.com", False),
        ("https://api.example.com:6443", "example.com:6443", False),
        ("https://api.example.com:6443", "example.com:443", True),
        ("https://10.1.2.3:6443", "10.0.0.0/8", False),
        ("https://11.1.2.3:6443", "10.0.0.0/8", True),
        ("https://10.1.2.3:6443", "10.1.2.3", False),
        ("https://10.1.2.3:6443", "10.1.2.3:6443", False),
        ("https://[fd00::1]:6443", "fd00::/8", False),
        ("https://[fd00::1]:6443", "[fd00::1]:6443", False),
        ("https://api.example.com", "*", False),
        ("https://127.0.0.1:6443", "", False),
        ("https://localhost:6443", "", False),
        ("https://10.1.2.3", "10.0.0.0/99", True),
    ],
)
def test_servers_are_excluded_as_go_does_it(server: str, excluded: str, used: bool) -> None:
    assert (proxy_for(server, "", {**PROXY, "NO_PROXY": excluded}) is not None) == used


def test_the_kubeconfig_goes_first_and_knows_no_exceptions() -> None:
    found = proxy_for("https://127.0.0.1", "http://mine:8080", {**PROXY, "NO_PROXY": "*"})
    assert found is not None
    assert found.url == "http://mine:8080"


def test_the_scheme_of_the_server_decides_the_variable() -> None:
    environment = {"http_proxy": "plain:1", "https_proxy": "http://secure:2"}
    plain, secure = proxy_for("http://a", "", environment), proxy_for("https://a", "", environment)
    assert plain is not None
    assert secure is not None
    assert (plain.url, secure.url) == ("http://plain:1", "http://secure:2")


def test_a_password_is_told_to_the_proxy_and_nobody_else() -> None:
    found = proxy_for("https://a", "http://me:p%40ss@proxy:1", {})
    assert found is not None
    assert found.url == "http://proxy:1"
    assert found.headers == {"Proxy-Authorization": "Basic " + base64.b64encode(b"me:p@ss").decode()}
    assert "p@ss" not in repr(found)
    assert "Basic" not in repr(found)


def test_a_proxy_of_no_use_is_refused_without_quoting_it() -> None:
    with pytest.raises(ValueError, match="HTTPS_PROXY") as caught:
        proxy_for("https://a", "", {"HTTPS_PROXY": "socks5://me:hidden@proxy"})
    assert "hidden" not in str(caught.value)
