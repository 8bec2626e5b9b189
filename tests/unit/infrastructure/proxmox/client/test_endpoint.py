from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.infrastructure.proxmox.client.endpoint import BadEndpoint, Endpoint, endpoint
from support.subtest_cases import subtest_cases

NAMES = st.from_regex(r"\A[a-z][a-z0-9]{0,8}(-[a-z0-9]{1,4})?(\.[a-z]{2,5}){0,2}\Z")
ADDRESSES = st.ip_addresses().map(str)
PORTS = st.integers(1, 65535)


@subtest_cases(
    ("written", "url"),
    [
        ("pve", "https://pve:8006"),
        ("https://pve", "https://pve:8006"),
        ("https://pve/", "https://pve:8006"),
        ("https://pve:8006/api2/json", "https://pve:8006"),
        ("https://pve:8006/api2/json/", "https://pve:8006"),
        ("https://pve:443/api2", "https://pve:443"),
        ("  HTTPS://PVE.Example.org.  ", "https://pve.example.org:8006"),
        ("pve.example.org:443", "https://pve.example.org:443"),
        ("https://pve:8006/#v1:0:18:4", "https://pve:8006"),
        ("192.0.2.10", "https://192.0.2.10:8006"),
        ("2001:db8::1", "https://[2001:db8::1]:8006"),
        ("[2001:DB8::1]", "https://[2001:db8::1]:8006"),
        ("https://[2001:db8:0::1]:9000/", "https://[2001:db8::1]:9000"),
    ],
)
def test_what_people_write_is_understood(written: str, url: str) -> None:
    assert endpoint(written).url == url


@subtest_cases(
    ("written", "why"),
    [
        ("", "empty"),
        ("http://pve:8006", "not by http"),
        ("https://root:secret@pve:8006", "no credentials"),
        ("https://pve:8006/pve2", "'/pve2'"),
        ("https://pve:0", "port 0"),
        ("https://pve:99999", "cannot be read"),
        ("https://", "neither a host name"),
        ("https://a b", "neither a host name"),
        (f"https://{'a' * 64}.example", "neither a host name"),
        ("https://[2001:db8::1", "cannot be read"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_reason(written: str, why: str) -> None:
    with pytest.raises(BadEndpoint, match=r"Proxmox VE|https") as raised:
        endpoint(written)
    assert why in str(raised.value)
    assert "secret" not in str(raised.value).lower().replace("into the secret", "")


@given(st.one_of(NAMES, ADDRESSES), PORTS, st.sampled_from(["", "/", "/api2/json", "/api2/json/"]))
def test_every_spelling_of_an_endpoint_is_one_endpoint(host: str, port: int, path: str) -> None:
    bracketed = f"[{host}]" if ":" in host else host
    found = endpoint(f"https://{bracketed}:{port}{path}")
    assert found == Endpoint(host, port)
    assert endpoint(found.url) == found


@given(st.text(max_size=40))
def test_any_text_is_an_endpoint_or_refused(text: str) -> None:
    try:
        found = endpoint(text)
    except BadEndpoint:
        return
    assert endpoint(found.url) == found
    if ":" in found.host:
        assert ipaddress.ip_address(found.host).version == 6
