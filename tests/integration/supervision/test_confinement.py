"""What a confined program has and what it gets at, seen from inside and from /proc. Only root can confine."""

from __future__ import annotations

import array
import asyncio
import ctypes
import json
import os
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from nagaya.supervision import place
from nagaya.supervision.backoff import Backoff
from nagaya.supervision.events import Event, NotStarted
from nagaya.supervision.processes import start_of
from nagaya.supervision.spec import Confinement, Limits, ProcessSpec
from nagaya.supervision.supervisor import Supervisor
from nagaya.world import World

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a program another user")

USER = 231_999
PYTHON = (os.path.realpath(sys.executable), "-I", "-S")
PROBE = """
import ctypes, json, os, resource, sys
work, *tried = sys.argv[1:]
def attempt(path):
    try:
        os.listdir(path) if os.path.isdir(path) else open(path, "rb").read()
    except OSError as error:
        return type(error).__name__
    return "read"
found = {
    "status": open("/proc/self/status").read(),
    "session": [os.getpid(), os.getsid(0), os.getpgid(0)],
    "open": [os.readlink(f) for n in os.listdir("/proc/self/fd") if os.path.exists(f := f"/proc/self/fd/{n}")],
    "environment": dict(os.environ),
    "limits": {each: resource.getrlimit(getattr(resource, each)) for each in dir(resource) if each[:7] == "RLIMIT_"},
    "cgroups": open("/proc/self/cgroup").read(),
    "folder": os.getcwd(),
    "oom_score": open("/proc/self/oom_score_adj").read().strip(),
    "keyring": ctypes.CDLL(None).syscall(250, 0, -3, 0) if os.uname().machine == "x86_64" else -1,
    "umask": os.umask(0),
    "tried": {path: attempt(path) for path in tried},
}
with open(work + "/found.new", "w") as file:
    json.dump(found, file)
os.rename(work + "/found.new", work + "/found")
import time
time.sleep(1000)
"""


@dataclass(slots=True)
class Room:
    """A folder of root's, with a supervisor and a folder of the user in it."""

    folder: Path
    supervisor: Supervisor
    events: list[Event]

    @property
    def work(self) -> Path:
        return self.folder / "data/work"

    def spec(self, *tried: Path, name: str = "probe", script: str = PROBE, **confinement: bool) -> ProcessSpec:
        return ProcessSpec(
            name,
            (*PYTHON, "-c", script, str(self.work), *map(str, tried)),
            {"GIVEN": "yes"},
            confinement=Confinement(USER, (self.work, Path(sys.base_prefix)), **confinement),
            limits=Limits(open_files=512, file_size=1 << 20, memory=256 << 20, cpu=0.5),
            grace=1.0,
        )

    async def found(self, spec: ProcessSpec) -> dict[str, object]:
        await self.supervisor.ensure(spec)
        path = self.work / "found"
        async with asyncio.timeout(60):
            while not path.exists():  # noqa: ASYNC110 - it is another process that makes it so
                await asyncio.sleep(0.01)
        content: dict[str, object] = json.loads(path.read_text())
        return content

    def log(self, name: str = "probe") -> str:
        return self.supervisor.log_of(name).read_text()


@pytest.fixture(params=[0o700, 0o711], ids=["closed", "open"])
def folder(request: pytest.FixtureRequest) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="nagaya-") as name:
        os.chmod(name, request.param)
        yield Path(name)


@pytest.fixture
async def room(folder: Path) -> AsyncIterator[Room]:
    work = folder / "data/work"
    work.mkdir(mode=0o700, parents=True)
    os.chmod(work.parent, 0o711)
    os.chown(work, USER, USER)
    (folder / "data/secret").write_text("of somebody else")
    (folder / "data/secret").chmod(0o600)
    events: list[Event] = []
    backoff = Backoff(first=0.05, limit=0.1)
    supervisor = Supervisor(folder / "data/processes", World(), listener=events.append, backoff=backoff)
    await supervisor.start()
    yield Room(folder, supervisor, events)
    await supervisor.close()


async def test_it_has_a_user_without_any_privilege(room: Room) -> None:
    found = await room.found(room.spec())
    lines = dict(line.split(":", 1) for line in str(found["status"]).splitlines())
    told = {name: lines[name].split() for name in ("Uid", "Gid", "Groups", "NoNewPrivs")}
    assert told == {"Uid": [str(USER)] * 4, "Gid": [str(USER)] * 4, "Groups": [], "NoNewPrivs": ["1"]}
    assert {lines[f"Cap{each}"].strip() for each in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}
    assert len(set(found["session"])) == 1, "a session of its own has no terminal"  # type: ignore[arg-type,call-overload]
    assert found["umask"] == 0o077
    given = {name: each for name, each in found["environment"].items() if name != "LC_CTYPE"}  # type: ignore[attr-defined]
    assert given == {"GIVEN": "yes"}
    assert found["folder"] == "/"
    assert found["oom_score"] == "500", "it ends before its supervisor if memory runs out"
    if found["keyring"] != -1:
        assert found["keyring"] != ctypes.CDLL(None).syscall(250, 0, -3, 0), "a keyring of its own"
    targets = sorted(found["open"])  # type: ignore[call-overload]
    of_process = room.supervisor.log_of("probe").parent
    assert targets == sorted([os.devnull, f"{of_process}/lock", f"{of_process}/log", f"{of_process}/log"])
    limits = found["limits"]
    assert isinstance(limits, dict)
    assert (limits["RLIMIT_CORE"], limits["RLIMIT_FSIZE"]) == ([0, 0], [1 << 20] * 2)
    assert limits["RLIMIT_NOFILE"] == [512, 512]
    assert max(limits["RLIMIT_NPROC"]) < 10_000


async def test_it_reaches_its_own_folder_and_no_other(room: Room) -> None:
    data = room.folder / "data"
    own_log = room.supervisor.log_of("probe")
    tried = [
        data / "secret",
        data,
        room.folder,
        data / "processes",
        own_log,
        Path("/proc") / str(os.getpid()) / "environ",
    ]
    found = await room.found(room.spec(*tried, Path("/root"), room.work))
    outcomes = found["tried"]
    assert isinstance(outcomes, dict)
    assert outcomes.pop(str(room.work)) == "read"
    assert set(outcomes.values()) <= {"PermissionError", "FileNotFoundError"}, outcomes


async def test_a_closed_folder_stays_as_it_is_for_everybody_else(room: Room) -> None:
    mode = room.folder.stat().st_mode
    await room.found(room.spec())
    assert room.folder.stat().st_mode == mode
    assert (room.folder / "data/secret").read_text() == "of somebody else"


async def test_it_is_limited_where_this_machine_can(room: Room) -> None:
    found = await room.found(room.spec())
    if room.supervisor.unlimited:
        pytest.skip(f"no cgroups for {room.supervisor.unlimited}")
    groups = [line for line in str(found["cgroups"]).splitlines() if line.endswith("-probe")]
    assert len(groups) in (1, 3)
    [pid] = [each.pid for each in room.supervisor.list()]
    assert pid in room.supervisor._cgroups.members("probe")


async def test_it_goes_on_under_the_next_supervisor(room: Room) -> None:
    spec = room.spec()
    await room.found(spec)
    [before] = room.supervisor.list()
    await room.supervisor.close(leave_running=True)
    await room.supervisor.start()
    await room.supervisor.ensure(spec)
    assert [each.pid for each in room.supervisor.list()] == [before.pid]


async def test_ports_below_1024_need_leave(room: Room) -> None:
    script = """
import os, socket, sys, time
with socket.socket() as listening:
    try:
        listening.bind(("127.0.0.71", 71))
        said = "bound"
    except PermissionError:
        said = "refused"
with open(sys.argv[1] + "/new", "w") as file:
    file.write('"' + said + '"')
os.rename(sys.argv[1] + "/new", sys.argv[1] + "/found")
time.sleep(1000)
"""
    assert await room.found(room.spec(script=script)) == "refused"
    (room.work / "found").unlink()
    assert await room.found(room.spec(script=script, low_ports=True)) == "bound"


async def test_it_cannot_have_others_killed_by_sending_them_its_lock(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever holds the lock of a process is ended before the next life. What was sent does not make it its own."""
    monkeypatch.setattr(place, "KILL_PATIENCE", 0.5)
    receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    with receiver:
        receiver.bind(str(room.work / "mailbox"))
        os.chmod(room.work / "mailbox", 0o777)
        script = """
import array, os, socket, sys
opened = map(int, os.listdir("/proc/self/fd"))
lock = next(each for each in opened if os.path.realpath(f"/proc/self/fd/{each}").endswith("/lock"))
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending:
    sending.connect(sys.argv[1] + "/mailbox")
    sending.sendmsg([b"!"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [lock]))])
"""
        await room.supervisor.ensure(room.spec(script=script))
        receiver.settimeout(30)
        received = await asyncio.to_thread(receiver.recvmsg, 1, socket.CMSG_SPACE(array.array("i").itemsize))
        [lock] = array.array("i", received[1][0][2])
        # Somebody else's process has it open now.
        innocent = await asyncio.create_subprocess_exec("/bin/sleep", "1000", pass_fds=(lock,))
        os.close(lock)
        try:
            async with asyncio.timeout(30):
                while not any(isinstance(each, NotStarted) for each in room.events):  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            assert start_of(innocent.pid) is not None
        finally:
            innocent.kill()
            await innocent.wait()


async def test_a_program_that_cannot_be_run_says_as_whom(room: Room) -> None:
    program = room.folder / "data/secret"
    spec = ProcessSpec("probe", (str(program),), confinement=Confinement(USER, (room.work,)))
    await room.supervisor.ensure(spec)
    async with asyncio.timeout(30):
        while not room.log():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert room.log().startswith(f"cannot run {program} in / as user {USER}: Permission denied")
