from __future__ import annotations

from pathlib import Path

import pytest

from nagaya.supervision.cgroups import Cgroups
from nagaya.supervision.spec import Limits

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
    groups = Cgroups.find(FOLDER, root, own)
    [procs] = groups.make("etcd", Limits(memory=1 << 20))
    assert procs.parent.parent == root / "memory/user"
    assert (procs.parent / "memory.limit_in_bytes").read_text() == "1048576"


def test_the_second_version_limits_where_memory_is_delegated(root: Path, own: Path) -> None:
    own.write_text("0::/nagaya.service/main\n")
    (root / "cgroup.controllers").write_text("memory")
    service = root / "nagaya.service"
    (service / "main").mkdir(parents=True)
    (service / "cgroup.subtree_control").write_text("")
    (service / "cgroup.controllers").write_text("cpuset memory")
    groups = Cgroups.find(FOLDER, root, own)
    [procs] = groups.make("etcd", Limits(memory=1 << 20))
    assert procs.parent.parent == service
    assert (procs.parent / "memory.max").read_text() == "1048576"
    assert (service / "cgroup.subtree_control").read_text() == "+memory"


def test_a_confined_process_cannot_have_more_than_its_share(root: Path, own: Path) -> None:
    own.write_text("5:memory:/user\n4:cpu:/user\n0::/user\n")
    for each in ("memory", "cpu"):
        (root / each / "user").mkdir(parents=True)
    groups = Cgroups.find(FOLDER, root, own)

    def written(name: str, limits: Limits) -> list[str]:
        folders = [each.parent for each in groups.make(name, limits, confined=True)]
        files = ("memory.limit_in_bytes", "cpu.cfs_quota_us")
        return [(each / file).read_text() for each in folders for file in files if (each / file).exists()]

    assert written("greedy", Limits(memory=1 << 60, cpu=1e6)) == written("plain", Limits())
    assert written("modest", Limits(memory=1 << 20, cpu=0.1)) == ["1048576", "10000"]


@pytest.mark.parametrize("told", ["", "5:memory:/gone\n", "0::/gone\n", "3:cpu:/\n"])
def test_without_a_place_nothing_is_limited(root: Path, own: Path, told: str) -> None:
    own.write_text(told)
    groups = Cgroups.find(FOLDER, root, own)
    assert not groups.bases
    assert groups.make("etcd", Limits(memory=1)) == []
    groups.forget("etcd")


def test_without_cgroups_nothing_is_limited(root: Path, own: Path) -> None:
    assert Cgroups.find(FOLDER, root, own).bases == {}


def test_a_process_without_a_limit_gets_a_group_that_knows_its_members(root: Path, own: Path) -> None:
    own.write_text("5:memory:/\n")
    (root / "memory").mkdir()
    groups = Cgroups.find(FOLDER, root, own)
    [procs] = groups.make("etcd", Limits())
    assert list(procs.parent.iterdir()) == []
    procs.write_text("12\n13\n")
    assert groups.members("etcd") == [12, 13]
    assert groups.members("kine") == []


def test_supervisors_of_two_folders_do_not_share_groups(root: Path, own: Path) -> None:
    own.write_text("5:memory:/\n")
    (root / "memory").mkdir()
    first, second = (Cgroups.find(Path(folder), root, own) for folder in ("/a", "/b"))
    assert first.make("etcd", Limits(memory=1)) != second.make("etcd", Limits(memory=1))


def test_processors_and_tasks_are_limited_in_their_own_trees(root: Path, own: Path) -> None:
    own.write_text("8:pids:/\n4:memory:/user\n2:cpuacct:/\n1:cpu:/gone\n")
    (root / "memory/user").mkdir(parents=True)
    (root / "pids").mkdir()
    groups = Cgroups.find(FOLDER, root, own)
    assert sorted(groups.bases) == ["memory", "pids"]
    (root / "cpu/gone").mkdir(parents=True)
    groups = Cgroups.find(FOLDER, root, own)
    [memory, cpu, pids] = [each.parent for each in groups.make("one", Limits(memory=4096, cpu=0.25), confined=True)]
    assert (memory / "memory.limit_in_bytes").read_text() == "4096"
    assert (cpu / "cpu.cfs_quota_us").read_text() == "25000"
    assert int((pids / "pids.max").read_text()) > 0


def test_all_are_limited_in_the_one_tree_of_the_second_version(root: Path, own: Path) -> None:
    own.write_text("0::/\n")
    for name in ("cgroup.controllers", "cgroup.subtree_control"):
        (root / name).write_text("cpu memory pids")
    [procs] = Cgroups.find(FOLDER, root, own).make("one", Limits(cpu=1.5), confined=True)
    assert (procs.parent / "cpu.max").read_text() == "150000 100000"
    assert int((procs.parent / "memory.max").read_text()) > 1 << 20
    assert int((procs.parent / "pids.max").read_text()) > 0


def test_only_who_is_confined_is_limited_without_being_told(root: Path, own: Path) -> None:
    own.write_text("0::/\n")
    for name in ("cgroup.controllers", "cgroup.subtree_control"):
        (root / name).write_text("cpu memory pids")
    [procs] = Cgroups.find(FOLDER, root, own).make("one", Limits())
    assert list(procs.parent.iterdir()) == []
