"""What was asked once need not be said again, and what is said counts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nagaya.infrastructure.proxmox.connection.establishing.remembered import Purpose, read, settled
from nagaya.infrastructure.proxmox.privileges.operations import Feature
from nagaya.infrastructure.proxmox.privileges.place import Scope

NAMES = st.lists(st.sampled_from(["a", "b", "c"]), unique=True).map(tuple)
SCOPES = st.builds(
    Scope,
    pool=st.sampled_from(["", "p", "q"]),
    template_pool=st.sampled_from(["", "t"]),
    templates=st.lists(st.integers(100, 105), unique=True).map(tuple),
    storages=NAMES,
    iso_storage=st.sampled_from(["", "i"]),
    bridges=NAMES,
    zones=NAMES,
    hosts=NAMES,
    devices=NAMES,
    import_storages=NAMES,
)
FEATURES = st.lists(st.sampled_from([*Feature]), unique=True).map(tuple)
PURPOSES = st.builds(Purpose, SCOPES, FEATURES, st.sampled_from(["", "a@pve"]))


@given(PURPOSES)
def test_what_is_written_is_read_again(purpose: Purpose) -> None:
    assert read(purpose.written()) == purpose


@given(PURPOSES, PURPOSES)
def test_to_say_nothing_means_the_same_as_before(said: Purpose, before: Purpose) -> None:
    once = settled(said, before)
    assert settled(Purpose(), once) == once
    assert settled(once, before).scope == once.scope


@given(PURPOSES, PURPOSES)
def test_what_is_said_counts(said: Purpose, before: Purpose) -> None:
    found = settled(said, before)
    for name in ("storages", "iso_storage", "hosts", "devices", "pool"):
        if getattr(said.scope, name):
            assert getattr(found.scope, name) == getattr(said.scope, name)
    if said.scope.bridges or said.scope.zones:
        assert (found.scope.bridges, found.scope.zones) == (said.scope.bridges, said.scope.zones)
    assert {*said.features} <= {*found.features}


def test_what_nobody_ever_said_is_usual() -> None:
    found = settled(Purpose(), Purpose())
    assert (found.scope.pool, found.user) == ("nagaya", "nagaya@pve")
    assert found.features == (Feature.ALWAYS, Feature.ISO)


def test_another_way_of_boot_data_replaces_the_first() -> None:
    found = settled(
        Purpose(features=(Feature.NATIVE,)), settled(Purpose(features=(Feature.HIGH_AVAILABILITY,)), Purpose())
    )
    assert {*found.features} == {Feature.ALWAYS, Feature.NATIVE, Feature.HIGH_AVAILABILITY}


def test_what_cannot_be_read_says_nothing() -> None:
    for text in ("", "{", '{"scope": 1}', '{"features": ["flying"]}'):
        assert read(text) == Purpose()
