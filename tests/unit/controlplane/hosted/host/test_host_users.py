from __future__ import annotations

import asyncio
import os
import signal
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from nagaya.controlplane.hosted.host import host as host_module
from nagaya.controlplane.hosted.host import users as module
from nagaya.controlplane.hosted.host.host import Host
from nagaya.controlplane.hosted.host.settings import HostSettings
from nagaya.controlplane.hosted.host.tenant_folder import TenantFolder
from nagaya.controlplane.hosted.host.users import NoUserLeft, Users
from nagaya.supervision.cgroups import Cgroups
from nagaya.supervision.status import ProcessStatus, State
from nagaya.world import World

RANGE = range(240_000, 240_010)
ONE, TWO = "355ba8b8-c8fd-40d6-92d6-8e90aaaf6302", "0ac1a655-ff52-49dc-aec3-5816fda3d0aa"
Make = Callable[..., Users]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Users of one folder on a machine where nobody else is."""
    monkeypatch.setattr(module, "processes_of", lambda _: [])
    monkeypatch.setattr(module, "_ranges", lambda _: [])
    monkeypatch.setattr(module, "_is_free", lambda _: True)

    def users(candidates: range = RANGE, *, enabled: bool = True, folder: Path = tmp_path) -> Users:
        found = Users(folder, candidates, enabled=enabled)
        found.load()
        return found

    return users


def test_each_has_its_own_and_keeps_it(make: Make) -> None:
    users = make()
    given = users.give(ONE), users.give(TWO)
    assert len(set(given)) == 2
    assert set(given) <= set(RANGE)
    again = make()
    assert (again.of(ONE), again.of(TWO)) == given
    assert (again.give(ONE), again.give(TWO)) == given


def test_who_is_not_root_gives_nobody_a_user(make: Make, tmp_path: Path) -> None:
    users = make(enabled=False)
    assert users.give(ONE) is None
    assert users.of(ONE) is None
    users.forget(ONE)
    assert list(tmp_path.iterdir()) == []


def test_a_number_is_written_down_before_it_is_used(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    users = make()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(module, "write_atomically", fail)
        with pytest.raises(OSError, match="No space"):
            users.give(ONE)
    assert users.of(ONE) is None
    assert make().of(ONE) is None


def test_a_number_that_was_given_back_comes_last(make: Make) -> None:
    users = make()
    first = users.give(ONE)
    users.forget(ONE)
    assert make().of(ONE) is None
    others = [make().give(f"other-{number}") for number in range(len(RANGE) - 1)]
    assert first not in others
    assert make().give(TWO) == first
    with pytest.raises(NoUserLeft, match=r"No user from 240000 to 240009 is free .* \(--tenants-users\)"):
        make().give("one too many")


@pytest.mark.parametrize("what", ["process", "range", "entry", "file"])
def test_what_somebody_has_is_not_given(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    [left] = [240_007]
    taken = [each for each in RANGE if each != left]
    if what == "process":
        monkeypatch.setattr(module, "processes_of", lambda user: [1] if user in taken else [])
    elif what == "range":
        monkeypatch.setattr(module, "_ranges", lambda _: [range(240_000, left), range(left + 1, 250_000)])
    elif what == "entry":
        monkeypatch.setattr(module, "_is_free", lambda user: user not in taken)
    else:
        if os.geteuid():
            pytest.skip("only root can give files away")
        for number, user in enumerate(taken):
            folder = tmp_path / ("stores" if number % 2 else "tenants") / str(number) / "of-somebody"
            folder.mkdir(parents=True)
            os.chown(folder, user, user)
    assert make().give(ONE) == left


def test_users_groups_and_ranges_of_this_machine_are_found(tmp_path: Path) -> None:
    assert not module._is_free(0)
    (tmp_path / "subuid").write_text("somebody:200000:65536\nnonsense\na:b:c\n")
    assert list(module._ranges(tmp_path / "subuid")) == [range(200_000, 265_536)]
    assert list(module._ranges(tmp_path / "none")) == []


def test_a_namespace_without_such_users_has_others(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_exists", lambda user: user < 65_536)
    user = make().give(ONE)
    assert user is not None
    assert 1_000 < user < 60_001


def test_two_nagayas_of_one_machine_begin_elsewhere(make: Make, tmp_path: Path) -> None:
    wide = range(200_000, 265_536)
    assert len({make(wide, folder=tmp_path / each).give(ONE) for each in "abcd"}) == 4


def test_a_record_that_makes_no_sense_is_named(make: Make, tmp_path: Path) -> None:
    (tmp_path / "users.json").write_text("{")
    with pytest.raises(ValueError, match=r"users\.json cannot be read .* Remove it"):
        make()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_without_a_record_the_owner_of_a_folder_tells(make: Make, tmp_path: Path) -> None:
    before = tmp_path / "tenants" / ONE / "run"
    before.mkdir(parents=True)
    os.chown(before, 240_003, 240_003)
    users = make()
    assert users.give(TWO, tmp_path / "tenants" / TWO / "run") != 240_003
    assert users.give(ONE, before) == 240_003


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_tenants_folder_of_an_earlier_version_is_let_in_for_its_user_alone(tmp_path: Path) -> None:
    earlier = TenantFolder.of(tmp_path / "tenants", ONE)
    files = {"pki/ca.crt": b"c", "pki/datastore/client.key": b"k", "a.conf": b"x", "configuration/b": b"y"}
    earlier.write(files)
    earlier.keep({"password": b"p"})
    earlier.write_for_balancer({"balancer.json": b"{}", "balancer.json.status": b"{}"})
    (earlier.path / "logs/audit.log").touch(0o600)
    (earlier.path / "owner.json").touch(0o600)
    folder = TenantFolder.of(tmp_path / "tenants", ONE, user=240_001)
    folder.write_for_balancer({"balancer.json": b"{}"})
    assert folder.write(files) == ()

    def found(name: str) -> tuple[int, int, int]:
        seen = (folder.path / name).stat()
        return seen.st_uid, seen.st_gid, stat.S_IMODE(seen.st_mode)

    assert found(".") == found("..") == (0, 0, 0o711)
    for name in ("pki", "pki/datastore", "configuration"):
        assert found(name) == (0, 240_001, 0o750), name
    for name in ("pki/ca.crt", "pki/datastore/client.key", "a.conf", "configuration/b"):
        assert found(name) == (0, 240_001, 0o640), name
    for name in ("run", "logs"):
        assert found(name) == (240_001, 240_001, 0o700), name
    assert found("logs/audit.log") == (240_001, 240_001, 0o600)
    assert found("balancer") == (0, 240_001, 0o750)
    assert found("balancer/balancer.json") == (0, 240_001, 0o640)
    assert found("balancer/balancer.json.status") == (240_001, 240_001, 0o600)
    for name, mode in {"store": 0o700, "store/password": 0o600, "owner.json": 0o600}.items():
        assert found(name) == (0, 0, mode), name
    # What is renewed stays so at every moment.
    assert folder.write({"pki/ca.crt": b"new"}) == ("pki/ca.crt",)
    assert found("pki/ca.crt") == (0, 240_001, 0o640)


def test_what_a_machine_cannot_guarantee_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(HostSettings(tmp_path, isolated=False), World())
    assert "as Nagaya itself does" in host.not_isolated()
    assert "inotify" not in host.not_isolated()
    names = [f"tenant-{number}.etcd" for number in range(50)]
    statuses = [ProcessStatus(name, State.READY, 1, 0, "", "") for name in names]
    monkeypatch.setattr(host._supervisor, "list", lambda: statuses)
    (tmp_path / "instances").write_text("128\n")
    monkeypatch.setattr(host_module, "_INOTIFY", tmp_path / "instances")
    assert "sysctl fs.inotify.max_user_instances=1024" in host.not_isolated()
    host.users.enabled = True
    monkeypatch.setattr(host._supervisor, "_cgroups", Cgroups({"memory": tmp_path}, False, ""))
    assert host.not_isolated() == "Nagaya may not make control groups here that limit cpu, pids."
    every = dict.fromkeys(("memory", "cpu", "pids"), tmp_path)
    monkeypatch.setattr(host._supervisor, "_cgroups", Cgroups(every, False, ""))
    assert host.not_isolated() == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a program as somebody else")
async def test_whoever_hides_is_ended_before_the_files_of_its_tenant_go(tmp_path: Path) -> None:
    host = Host(HostSettings(tmp_path, users=range(231_000, 231_900), isolated=True), World())
    await host.start()
    try:
        folder = host.admit(ONE)
        assert folder.user is not None
        folder.make()
        hiding = await asyncio.create_subprocess_exec(
            "/bin/sleep", "1000", user=folder.user, group=folder.user, extra_groups=[], start_new_session=True
        )
        await host.remove(ONE)
        assert await hiding.wait() == -signal.SIGKILL
        (tmp_path / "precious").write_text("of somebody else")
        (folder.path / "run/link").symlink_to(tmp_path / "precious")
        (folder.path / "run/folder").symlink_to(tmp_path)
        await host.remove_files(ONE)
        await host.remove_folder(ONE)
        assert (tmp_path / "precious").read_text() == "of somebody else"
        assert host.users.of(ONE) is None
        assert not folder.path.exists()
    finally:
        host.subscribe(lambda *_: None, lambda: None)
        await host.close()
