from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.controlplane.hosted.data_store.etcd_access import keys_of
from nagaya.controlplane.hosted.data_store.tenant import Tenant
from nagaya.kube.etcd.kv import after_prefix

UID = "0f8fad5b-d9cb-469f-a165-70867728950e"
HOSTILE = (
    "",
    "/",
    "..",
    "../../etc",
    "a/b",
    UID.upper(),
    f"{UID}/",
    f"{UID}\n",
    f"{UID} ",
    f"/{UID}",
    f'{UID}"; DROP DATABASE postgres; --',
    UID.replace("-", ""),
    UID[:-1],
    f"{UID}0",
    UID[:-1] + "\0",
    UID[:-1] + "é",
)


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_not_a_uid_is_no_tenant(name: str) -> None:
    with pytest.raises(ValueError, match="is not a uid"):
        Tenant(name)


@given(st.text())
def test_no_text_becomes_a_tenant_by_chance(name: str) -> None:
    with pytest.raises(ValueError, match="is not a uid"):
        Tenant(name)


@given(st.uuids(), st.uuids(), st.binary())
def test_the_range_of_one_tenant_never_has_a_key_of_another(one: object, other: object, rest: bytes) -> None:
    first, second = Tenant(str(one)), Tenant(str(other))
    key = keys_of(second) + rest
    inside = keys_of(first) <= key < after_prefix(keys_of(first))
    assert inside == (first == second)


def test_names_follow_from_the_uid() -> None:
    tenant = Tenant(UID)
    assert tenant.prefix == f"/{UID}"
    assert tenant.user == f"tenant-{UID}"
    assert tenant.database == "tenant_0f8fad5b_d9cb_469f_a165_70867728950e"
    assert len(tenant.database) <= 63, "PostgreSQL would cut it off"
    assert keys_of(tenant) == f"/{UID}/".encode()
