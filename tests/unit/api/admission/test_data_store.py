from __future__ import annotations

import pytest

from nagaya.api.admission.data_store import validate


@pytest.mark.parametrize("endpoint", ["etcd-0.example:2379", "10.0.0.1:2379", "[fd00::1]:2379", "db:5432"])
def test_endpoints_that_can_be_dialled_are_fine(endpoint: str) -> None:
    assert validate({"spec": {"endpoints": [endpoint]}}, None) == []


@pytest.mark.parametrize(
    "endpoint", ["https://etcd:2379", "etcd", "etcd:0", "etcd:99999", "fd00::1:2379", "a b:1", "x:1/y"]
)
def test_others_are_refused(endpoint: str) -> None:
    (problem,) = validate({"spec": {"endpoints": [endpoint]}}, None)
    assert problem.field == "spec.endpoints[0]"
    assert "must be host:port without a scheme" in problem.detail


def test_an_endpoint_is_given_once() -> None:
    (problem,) = validate({"spec": {"endpoints": ["a:1", "a:1"]}}, None)
    assert str(problem) == 'spec.endpoints[1]: Invalid value: "a:1": must not be given twice'
