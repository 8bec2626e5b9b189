from __future__ import annotations

from pathlib import Path

from nagaya.simulators.netns.cgroups import Groups, Hierarchy, hierarchies

HYBRID = """\
proc /proc proc rw,relatime 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw,nosuid 0 0
cgroup /sys/fs/cgroup/systemd cgroup rw,nosuid,xattr,release_agent=/lib/systemd/agent,name=systemd 0 0
cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0
cgroup /elsewhere/cpu cgroup rw,relatime,cpu,cpuacct 0 0
"""


def test_where_there_are_hierarchies_of_version_1_they_are_used() -> None:
    found = hierarchies(HYBRID)
    assert [(str(tree.mount), tree.mounting) for tree in found] == [
        ("/sys/fs/cgroup/systemd", "systemd none,name=systemd"),
        ("/sys/fs/cgroup/cpu,cpuacct", "cpu,cpuacct cpu,cpuacct"),
    ]
    assert not any(tree.unified for tree in found)


def test_where_there_is_only_version_2_it_is_used() -> None:
    (found,) = hierarchies("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")
    assert found.unified
    assert Groups("x", (found,)).entrances("m1") == [Path("/sys/fs/cgroup/x/m1/init/cgroup.procs")]


def test_a_group_gets_processors_from_the_one_above(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "x", tmp_path / "x" / "m1"):
        folder.mkdir(exist_ok=True)
        for name in ("cpuset.cpus", "cpuset.mems", "cgroup.clone_children"):
            (folder / name).write_text("0-1\n" if folder == tmp_path else "\n")
    groups = Groups("x", (Hierarchy(tmp_path, "cpuset"),))
    assert groups.make("m1") == [tmp_path / "x" / "m1" / "cgroup.procs"]
    assert (tmp_path / "x" / "m1" / "cpuset.cpus").read_text() == "0-1\n"
    assert (tmp_path / "x" / "m1" / "cgroup.clone_children").read_text() == "1"
    assert groups.machines() == ["m1"]
