from __future__ import annotations

from typing import Any

import pytest

from nagaya.api.admission.cluster_resource_set_binding import validate as validate_binding
from nagaya.api.admission.ip_address import validate
from nagaya.api.admission.ip_address_claim import validate as validate_claim


def address(**spec: Any) -> dict[str, Any]:
    return {"spec": {"address": "10.0.0.1", "prefix": 24, **spec}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, []),
        ({"address": "2001:db8::1", "prefix": 64, "gateway": "2001:db8::"}, []),
        ({"address": "10.0.0"}, ['spec.address: Invalid value: "10.0.0": not a valid IP address']),
        ({"prefix": 33}, ["spec.prefix: Invalid value: 33: prefix is too large for an IPv4 address"]),
        ({"gateway": "x"}, ['spec.gateway: Invalid value: "x": not a valid IP address']),
    ],
)
def test_an_address_is_one(spec: dict[str, Any], expected: list[str]) -> None:
    assert [str(error) for error in validate(address(**spec), None)] == expected


def test_an_address_and_a_claim_never_change() -> None:
    for check, kind in ((validate, "IPAddress"), (validate_claim, "IPAddressClaim")):
        assert check(address(), address()) == []
        assert [str(error) for error in check(address(prefix=25), address())] == [
            f"spec: Forbidden: {kind} spec is immutable. Diff: prefix"
        ]


def test_a_binding_stays_with_its_cluster() -> None:
    old, new = ({"spec": {"clusterName": name}} for name in ("a", "b"))
    assert validate_binding(old, old) == validate_binding(new, None) == validate_binding(new, {"spec": {}}) == []
    assert [str(error) for error in validate_binding(new, old)] == [
        'spec.clusterName: Invalid value: "b": field is immutable'
    ]
