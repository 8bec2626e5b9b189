from __future__ import annotations

import stat
from pathlib import Path

import pytest

from nagaya.controlplane.hosted.host.ports import NoPortLeft, Ports
from nagaya.controlplane.hosted.host.quantities import bytes_of
from nagaya.controlplane.hosted.host.tenant_folder import Started, TenantFolder

UID = "355ba8b8-c8fd-40d6-92d6-8e90aaaf6302"
OTHER = "0ac1a655-ff52-49dc-aec3-5816fda3d0aa"
UIDS = (UID, OTHER)


@pytest.mark.parametrize("uid", ["", ".", "..", "../../etc", "a/b", UID.upper(), f"{UID}/..", f"{UID}\n", "355ba8b8"])
def test_only_a_uid_becomes_part_of_a_path(tmp_path: Path, uid: str) -> None:
    with pytest.raises(ValueError, match="is not a uid"):
        TenantFolder.of(tmp_path, uid)


def test_files_are_closed_to_others_and_written_only_if_they_differ(tmp_path: Path) -> None:
    folder = TenantFolder.of(tmp_path / "tenants", UID)

    assert folder.write({"pki/ca.key": b"secret", "a.conf": b"x"}) == ("pki/ca.key", "a.conf")
    assert folder.write({"pki/ca.key": b"secret", "a.conf": b"y"}) == ("a.conf",)
    assert folder.read("a.conf") == b"y"
    for path in (tmp_path / "tenants").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


def test_what_was_started_is_remembered_and_damage_is_survived(tmp_path: Path) -> None:
    folder = TenantFolder.of(tmp_path, UID)
    assert folder.started() == {}
    folder.note_started({"a": Started("digest", "v1.36.3")})
    assert folder.started() == {"a": Started("digest", "v1.36.3")}
    (folder.path / "started.json").write_text("{")
    assert folder.started() == {}


def test_credentials_are_kept(tmp_path: Path) -> None:
    folder = TenantFolder.of(tmp_path, UID)
    assert folder.kept() == {}
    folder.keep({"password": b"p"})
    assert folder.kept() == {"password": b"p"}


def test_no_port_is_given_twice_also_after_a_restart(tmp_path: Path) -> None:
    busy = {100}
    ports = Ports(tmp_path, lambda port: port not in busy)
    one, two = TenantFolder.of(tmp_path, UID), TenantFolder.of(tmp_path, OTHER)

    first = ports.give(one, ["a", "b"], range(100, 104))
    second = ports.give(two, ["a"], range(100, 104))
    assert sorted((*first.values(), *second.values())) == [101, 102, 103]
    again = Ports(tmp_path, lambda _: True)
    again.load()
    assert again.give(one, ["a", "b"], range(100, 104)) == first
    assert again.give(one, ["c"], range(100, 104)) == {**first, "c": 100}
    assert again.taken(but=UID) == {*second.values()}
    again.forget(OTHER)
    assert again.taken(but=UID) == frozenset()


def test_two_nagayas_on_one_machine_do_not_give_the_same_ports_in_the_same_moment(tmp_path: Path) -> None:
    given = [Ports(tmp_path, lambda _: True).give(TenantFolder.of(tmp_path, uid), ["a"], range(1000)) for uid in UIDS]

    assert len({each["a"] for each in given}) == len(UIDS)


def test_a_path_that_is_too_long_for_sockets_is_refused_with_the_remedy(tmp_path: Path) -> None:
    short = Path("/srv/nagaya/tenants")
    TenantFolder.of(short, UID).expect_sockets()

    with pytest.raises(ValueError, match=r"15 bytes too long .*--tenants-dir"):
        TenantFolder.of(Path("/") / ("a" * 68), UID).expect_sockets()


def test_a_range_without_a_free_port_says_so(tmp_path: Path) -> None:
    ports = Ports(tmp_path, lambda _: False)

    with pytest.raises(NoPortLeft, match="No port from 100 to 109 is free"):
        ports.give(TenantFolder.of(tmp_path, UID), ["a"], range(100, 110))


@pytest.mark.parametrize(
    ("amount", "expected"),
    [("512Mi", 512 << 20), ("1.5Gi", 3 << 29), ("1G", 10**9), ("2k", 2000), (7, 7), ("1e3", 1000), ("1500m", 2)],
)
def test_amounts_of_memory_are_read(amount: int | str, expected: int) -> None:
    assert bytes_of(amount) == expected


def test_what_is_no_amount_is_refused() -> None:
    with pytest.raises(ValueError, match="is not an amount"):
        bytes_of("much")
