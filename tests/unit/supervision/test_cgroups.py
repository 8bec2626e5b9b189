from __future__ import annotations

from pathlib import Path

import pytest

from nagaya.supervision.cgroups import MemoryCgroups

FOLDER = Path("/var/lib/nagaya")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return tmp_path / "own"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "cgroup"
    root.mkdir()
    return root


def test_the_first_version_limits_below_our_own_group(root: Path, own: Path) -> None:
    own.write_text("5:memory:/user\n1:name=systemd:/user\n0::/user\n")
    (root / "memory/user").mkdir(parents=True)
    groups = MemoryCgroups.find(FOLDER, root, own)
    [procs] = groups.make("etcd", 1 << 20)
    assert procs.parent.parent == root / "memory/user"
    assert (procs.parent / "memory.limit_in_bytes").read_text() == "1048576"


def test_the_second_version_limits_where_memory_is_delegated(root: Path, own: Path) -> None:
    own.write_text("0::/nagaya.service/main\n")
    (root / "cgroup.controllers").write_text("memory")
    service = root / "nagaya.service"
    (service / "main").mkdir(parents=True)
    (service / "cgroup.subtree_control").write_text("")
    groups = MemoryCgroups.find(FOLDER, root, own)
    [procs] = groups.make("etcd", 1 << 20)
    assert procs.parent.parent == service
    assert (procs.parent / "memory.max").read_text() == "1048576"
    assert (service / "cgroup.subtree_control").read_text() == "+memory"


@pytest.mark.parametrize("told", ["", "5:memory:/gone\n", "0::/gone\n", "3:cpu:/\n"])
def test_without_a_place_nothing_is_limited(root: Path, own: Path, told: str) -> None:
    own.write_text(told)
    groups = MemoryCgroups.find(FOLDER, root, own)
    assert groups.base is None
    assert groups.make("etcd", 1) == []
    groups.forget("etcd")


def test_without_cgroups_nothing_is_limited(root: Path, own: Path) -> None:
    assert MemoryCgroups.find(FOLDER, root, own).base is None


def test_a_process_without_a_limit_gets_a_group_that_knows_its_members(root: Path, own: Path) -> None:
    own.write_text("5:memory:/\n")
    (root / "memory").mkdir()
    groups = MemoryCgroups.find(FOLDER, root, own)
    [procs] = groups.make("etcd", None)
    assert list(procs.parent.iterdir()) == []
    procs.write_text("12\n13\n")
    assert groups.members("etcd") == [12, 13]
    assert groups.members("kine") == []


def test_supervisors_of_two_folders_do_not_share_groups(root: Path, own: Path) -> None:
    own.write_text("5:memory:/\n")
    (root / "memory").mkdir()
    first, second = (MemoryCgroups.find(Path(folder), root, own) for folder in ("/a", "/b"))
    assert first.make("etcd", 1) != second.make("etcd", 1)
