from __future__ import annotations

from typing import Any

import pytest

from nagaya.api.controlplane.data_store import DEFINITION
from nagaya.api.crd import render
from support.served_kind import ServedKind
from support.subtest_cases import subtest_cases

SERVED = ServedKind(DEFINITION)


def key(name: str) -> dict[str, str]:
    return {"namespace": "stores", "name": "etcd", "key": name}


TLS = {
    "certificateAuthority": {"certificate": key("ca.crt"), "privateKey": key("ca.key")},
    "clientCertificate": {"certificate": key("root.crt"), "privateKey": key("root.key")},
}
ETCD: dict[str, Any] = {"driver": "etcd", "endpoints": ["etcd-0:2379"], "tls": TLS}
PASSWORD = {"username": key("user"), "password": key("password")}
POSTGRESQL: dict[str, Any] = {"driver": "PostgreSQL", "endpoints": ["db:5432"], "basicAuth": PASSWORD}
MANAGED: dict[str, Any] = {"driver": "etcd", "managed": True}
SQLITE: dict[str, Any] = {"driver": "SQLite"}


def test_it_belongs_to_the_whole_management_cluster() -> None:
    assert render(DEFINITION)["spec"]["scope"] == "Cluster"


@pytest.mark.parametrize("spec", [ETCD, POSTGRESQL, MANAGED, SQLITE, {**SQLITE, "managed": True}])
def test_stores_of_all_sorts_are_fine(spec: dict[str, Any]) -> None:
    assert SERVED.problems(spec) == []


@subtest_cases(
    ("spec", "problem"),
    [
        ({"driver": "NATS", "endpoints": ["a:1"]}, "Unsupported value"),
        ({"driver": "etcd", "tls": TLS}, "endpoints are needed"),
        ({"driver": "etcd", "endpoints": ["a:1"]}, "without them control planes could read each other's data"),
        (
            {**ETCD, "tls": {**TLS, "certificateAuthority": {"certificate": key("ca.crt")}}},
            "needs tls with the key of its certificate authority",
        ),
        ({**ETCD, "managed": True}, "a managed store has the endpoints and certificates that Nagaya gives it"),
        ({"driver": "PostgreSQL", "endpoints": ["db:5432"]}, "needs basicAuth or a client certificate"),
        ({"driver": "PostgreSQL", "managed": True, "basicAuth": PASSWORD}, "Nagaya does not start PostgreSQL itself"),
        ({"driver": "SQLite", "endpoints": ["a:1"]}, "SQLite keeps files beside Nagaya"),
    ],
)
def test_a_store_that_could_not_work_is_refused(spec: dict[str, Any], problem: str) -> None:
    assert any(problem in each for each in SERVED.problems(spec)), SERVED.problems(spec)


def test_data_does_not_move_by_itself() -> None:
    assert any("spec.driver" in each and "data does not move" in each for each in SERVED.problems(SQLITE, ETCD))
    assert any("managed cannot be changed" in each for each in SERVED.problems(ETCD, MANAGED))
    assert any("managed cannot be changed" in each for each in SERVED.problems(MANAGED, ETCD))
    assert SERVED.problems({**ETCD, "endpoints": ["etcd-1:2379"]}, ETCD) == []


def test_what_a_store_goes_on_with_is_said_at_its_beginning_or_never_and_only_of_files() -> None:
    identity = {"storeID": "9f1c2d3e-0000-4000-8000-000000000002"}

    assert SERVED.problems({**MANAGED, **identity}) == SERVED.problems({**SQLITE, **identity}) == []
    assert any(
        "storeID is for stores that Nagaya keeps itself" in each for each in SERVED.problems({**ETCD, **identity})
    )
    for before, after in ((MANAGED, {**MANAGED, **identity}), ({**MANAGED, **identity}, MANAGED)):
        assert any("storeID cannot be added" in each for each in SERVED.problems(after, before))
    assert any("storeID" in each for each in SERVED.problems({**SQLITE, "storeID": "../x"}))
