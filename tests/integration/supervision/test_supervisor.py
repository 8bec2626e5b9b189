"""Real processes under a supervisor."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nagaya.supervision.backoff import Backoff
from nagaya.supervision.errors import FolderInUse
from nagaya.supervision.events import Adopted, Event, Exited, Ready, Started, Stopped
from nagaya.supervision.logs import LogLimits
from nagaya.supervision.probes import accepts_tcp, accepts_unix, answers_http
from nagaya.supervision.processes import start_of
from nagaya.supervision.spec import Limits, ProcessSpec
from nagaya.supervision.status import State
from nagaya.supervision.supervisor import Supervisor
from nagaya.world import World

CHILD = Path(__file__).with_name("child.py")
PATIENCE = 120.0
QUICK = Backoff(first=0.05, limit=0.1)


class Stage:
    """A folder to supervise, a folder for the child, and everything that was told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "supervised"
        self.work = folder / "work"
        self.work.mkdir()
        self.events: list[Event] = []
        self._told = asyncio.Event()
        self._open: list[Supervisor] = []

    def hear(self, event: Event) -> None:
        self.events.append(event)
        self._told.set()

    async def supervisor(self, logs: LogLimits | None = None) -> Supervisor:
        supervisor = Supervisor(self.folder, World(), listener=self.hear, backoff=QUICK, logs=logs)
        await supervisor.start()
        self._open.append(supervisor)
        return supervisor

    async def close(self) -> None:
        for supervisor in self._open:
            await supervisor.close()

    def spec(self, *options: str, name: str = "child", grace: float = 5.0) -> ProcessSpec:
        return ProcessSpec(name, (sys.executable, str(CHILD), str(self.work), *options), grace=grace)

    async def until(self, holds: Callable[[], object], seconds: float = PATIENCE) -> None:
        async with asyncio.timeout(seconds):
            while not holds():  # noqa: ASYNC110 - it is another process that makes it so
                await asyncio.sleep(0.01)

    async def heard(self, kind: type[Event], count: int = 1) -> None:
        async with asyncio.timeout(PATIENCE):
            while sum(isinstance(event, kind) for event in self.events) < count:
                self._told.clear()
                await self._told.wait()

    @property
    def lives(self) -> list[int]:
        path = self.work / "lives"
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    @property
    def violations(self) -> list[Path]:
        return list(self.work.glob("two-*"))


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    await stage.close()


async def test_a_process_is_started_again_and_its_words_are_kept(stage: Stage) -> None:
    supervisor = await stage.supervisor()
    await supervisor.ensure(stage.spec("lifetime=0.01"))
    await stage.heard(Exited, 3)
    ends = [event for event in stage.events if isinstance(event, Exited)]
    assert {event.code for event in ends} == {3}
    assert ends[0].last_lines[-1] == "the last words"
    assert [event.pid for event in ends] == stage.lives[:3]
    assert not stage.violations


async def test_the_environment_is_all_that_is_given_and_no_part_of_the_command_line(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INHERITED", "by mistake")
    supervisor = await stage.supervisor()
    await supervisor.ensure(replace(stage.spec(), environment={"SECRET": "s3cret"}))
    await stage.until((stage.work / "running").exists)
    [pid] = stage.lives
    assert Path(f"/proc/{pid}/environ").read_bytes().rstrip(b"\0").split(b"\0") == [b"SECRET=s3cret"]
    assert b"s3cret" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    assert "s3cret" in supervisor.log_of("child").read_text()
    assert "s3cret" not in (stage.folder / "child/record.json").read_text()


async def test_what_is_kept_is_private(stage: Stage) -> None:
    supervisor = await stage.supervisor()
    await supervisor.ensure(stage.spec())
    await stage.until((stage.work / "running").exists)
    modes = {path.name: path.stat().st_mode & 0o077 for path in [stage.folder, *stage.folder.rglob("*")]}
    assert set(modes.values()) == {0}, modes


@pytest.mark.parametrize("kind", ["plain", "hidden"])
async def test_stopping_ends_the_process_and_whatever_it_started(stage: Stage, kind: str) -> None:
    supervisor = await stage.supervisor()
    if kind == "hidden" and "memory" in supervisor.unlimited:
        pytest.skip("this user may not make cgroups here, by which alone hidden ones can be found")
    await supervisor.ensure(stage.spec(f"grandchild={kind}"))
    await stage.until((stage.work / "running").exists)
    grandchild = int((stage.work / "grandchild").read_text())
    assert start_of(grandchild) is not None
    await supervisor.stop("child")
    assert start_of(grandchild) is None
    assert start_of(stage.lives[0]) is None
    status = supervisor.status("child")
    assert status is not None
    assert (status.state, status.pid) == (State.STOPPED, None)


async def test_what_a_dead_process_left_is_ended_before_the_next_life_begins(stage: Stage) -> None:
    supervisor = await stage.supervisor()
    await supervisor.ensure(stage.spec("grandchild=plain"))
    await stage.until((stage.work / "running").exists)
    grandchild = int((stage.work / "grandchild").read_text())
    os.kill(stage.lives[0], signal.SIGKILL)
    await stage.until(lambda: len(stage.lives) == 2)
    assert start_of(grandchild) is None
    assert not stage.violations


async def test_one_that_does_not_listen_is_killed_after_its_grace(stage: Stage) -> None:
    supervisor = await stage.supervisor()
    await supervisor.ensure(stage.spec("ignore=term", grace=0.2))
    await stage.until((stage.work / "running").exists)
    began = asyncio.get_running_loop().time()
    await supervisor.stop("child")
    usual = ProcessSpec("child", (sys.executable,)).grace
    assert 0.2 <= asyncio.get_running_loop().time() - began < usual
    assert start_of(stage.lives[0]) is None


async def test_a_program_that_does_not_exist_is_named(stage: Stage) -> None:
    supervisor = await stage.supervisor()
    await supervisor.ensure(ProcessSpec("child", ("/does/not/exist",)))
    await stage.heard(Exited)
    [end, *_] = [event for event in stage.events if isinstance(event, Exited)]
    assert end.code == 127
    assert end.last_lines[-1].startswith("cannot run /does/not/exist in ")
    assert end.last_lines[-1].endswith("No such file or directory")


async def test_a_second_supervisor_is_kept_away_from_the_folder(stage: Stage) -> None:
    await stage.supervisor()
    with pytest.raises(FolderInUse, match=f"is supervised by process {os.getpid()} already"):
        await Supervisor(stage.folder, World()).start()


async def test_what_was_left_running_is_adopted_with_its_process(stage: Stage) -> None:
    first = await stage.supervisor()
    await first.ensure(stage.spec())
    await stage.until((stage.work / "running").exists)
    await first.close(leave_running=True)
    second = await stage.supervisor()
    status = second.status("child")
    assert status is not None
    assert (status.state, status.pid) == (State.UNCLAIMED, stage.lives[0])
    await second.ensure(stage.spec())
    assert Adopted("child", stage.lives[0]) in stage.events
    os.kill(stage.lives[0], signal.SIGKILL)
    # Its parent, this very process, has left it to nobody: the kernel keeps it until we end, but it is dead.
    await stage.heard(Exited)
    await stage.until(lambda: len(stage.lives) == 2)
    assert not stage.violations


async def test_a_changed_spec_replaces_what_was_left_running(stage: Stage) -> None:
    first = await stage.supervisor()
    await first.ensure(stage.spec())
    await stage.until((stage.work / "running").exists)
    await first.close(leave_running=True)
    second = await stage.supervisor()
    await second.ensure(replace(stage.spec(), files_hash="new"))
    await stage.until(lambda: len(stage.lives) == 2)
    assert start_of(stage.lives[0]) is None
    assert not stage.violations


async def test_what_nobody_wants_any_more_is_ended_and_removed(stage: Stage) -> None:
    first = await stage.supervisor()
    await first.ensure(stage.spec())
    await first.ensure(stage.spec("lifetime=100", name="other"))
    await stage.until(lambda: len(stage.lives) == 2)
    await first.close(leave_running=True)
    second = await stage.supervisor()
    await second.ensure(stage.spec())
    await second.retain({"child"})
    assert [status.name for status in second.list()] == ["child"]
    assert not (stage.folder / "other").exists()
    assert sum(start_of(pid) is not None for pid in stage.lives) == 1


async def test_what_is_not_a_process_in_the_folder_is_left_alone(stage: Stage) -> None:
    (stage.folder / "photographs").mkdir(parents=True)
    supervisor = await stage.supervisor()
    await supervisor.retain(())
    assert supervisor.list() == []
    assert (stage.folder / "photographs").is_dir()


async def test_a_removal_that_was_interrupted_is_finished_at_the_next_start(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor = await stage.supervisor()
    await supervisor.ensure(stage.spec())
    await stage.heard(Ready)

    def interrupted(folder: Path, *, ignore_errors: bool) -> None:
        if folder.exists():
            (folder / "lock").unlink()
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("nagaya.supervision.supervisor.shutil.rmtree", interrupted)
        with pytest.raises(KeyboardInterrupt):
            supervisor._remove_folder("child")
    await supervisor.close()
    await stage.supervisor()
    assert [each.name for each in stage.folder.iterdir()] == ["supervisor.lock"]


async def test_a_process_unknown_to_the_record_is_found_by_its_lock(stage: Stage) -> None:
    first = await stage.supervisor()
    await first.ensure(stage.spec())
    await stage.until((stage.work / "running").exists)
    await first.close(leave_running=True)
    (stage.folder / "child/record.json").unlink()
    second = await stage.supervisor()
    await second.ensure(stage.spec())
    await stage.until(lambda: len(stage.lives) == 2)
    assert start_of(stage.lives[0]) is None
    assert not stage.violations


async def test_limits_hold_in_the_process(stage: Stage) -> None:
    supervisor = await stage.supervisor()
    await supervisor.ensure(replace(stage.spec(), limits=Limits(open_files=77, oom_score=500)))
    await stage.until((stage.work / "running").exists)
    [pid] = stage.lives
    limits = Path(f"/proc/{pid}/limits").read_text()
    [line] = [line for line in limits.splitlines() if line.startswith("Max open files")]
    assert line.split()[3:5] == ["77", "77"]
    assert Path(f"/proc/{pid}/oom_score_adj").read_text().strip() == "500"


async def test_a_process_that_takes_too_much_memory_is_killed_alone(stage: Stage) -> None:
    supervisor = await stage.supervisor()
    if "memory" in supervisor.unlimited:
        pytest.skip("this user may not make memory cgroups here")
    hungry = replace(stage.spec(f"memory={200 << 20}"), limits=Limits(memory=60 << 20, oom_score=1000))
    await supervisor.ensure(hungry)
    await stage.heard(Exited)
    [end, *_] = [event for event in stage.events if isinstance(event, Exited)]
    assert end.code == -signal.SIGKILL
    assert not (stage.work / "running").exists()


async def test_a_process_is_ready_when_it_listens(stage: Stage) -> None:
    script = (
        "import asyncio, sys\n"
        "async def main():\n"
        "    async def answer(reader, writer):\n"
        "        await reader.readline()\n"
        "        writer.write(b'HTTP/1.1 200 OK\\r\\ncontent-length: 0\\r\\n\\r\\n'); writer.close()\n"
        "    await asyncio.start_unix_server(answer, sys.argv[1])\n"
        "    server = await asyncio.start_server(answer, '127.0.0.1', 0)\n"
        "    open(sys.argv[2], 'w').write(str(server.sockets[0].getsockname()[1]))\n"
        "    await asyncio.sleep(1000)\n"
        "asyncio.run(main())\n"
    )
    socket, port = stage.work / "socket", stage.work / "port"

    async def all_answer() -> bool:
        number = int(port.read_text())
        probes = [accepts_unix(socket), accepts_tcp("127.0.0.1", number), answers_http("127.0.0.1", number, "/readyz")]
        return all([await probe() for probe in probes])

    supervisor = await stage.supervisor()
    command = (sys.executable, "-c", script, str(socket), str(port))
    await supervisor.ensure(ProcessSpec("child", command, ready=all_answer))
    await stage.heard(Ready)
    assert isinstance(stage.events[0], Started)
    status = supervisor.status("child")
    assert status is not None
    assert status.state is State.READY


async def test_a_log_is_rotated_while_it_is_written(stage: Stage) -> None:
    supervisor = await stage.supervisor(logs=LogLimits(size=20_000, kept=2, interval=0.05))
    log = supervisor.log_of("child")
    oldest, go, done = log.with_name("log.2"), stage.work / "go", stage.work / "done"
    # The machine decides how many lines fit between two rotations, so the child writes until there were two. What is
    # written just before a log is emptied may be lost, so the last line is written when the second rotation is over.
    script = """
        i=0
        while [ ! -e "$1" ]; do echo line $i; i=$((i+1)); done
        while [ ! -e "$2" ]; do sleep 0.01; done
        echo line $i
        echo $i > "$3"
        sleep 1000
    """
    command = ("/bin/sh", "-c", script, "sh", str(oldest), str(go), str(done))
    await supervisor.ensure(ProcessSpec("child", command))
    await stage.until(oldest.exists)
    await stage.until(lambda: log.stat().st_size <= 20_000)  # too short to be rotated once more
    go.touch()
    await stage.until(lambda: done.exists() and done.read_text().endswith("\n"))
    files = [(log.parent / name).read_text() for name in ("log.2", "log.1", "log")]
    kept = [[int(line.split()[1]) for line in file.splitlines()] for file in files]
    for held in kept:
        assert held == [*range(held[0], held[0] + len(held))], "lines are lost between two files only"
    numbers = [number for file in kept for number in file]
    assert numbers == sorted(set(numbers))
    assert (numbers[0], numbers[-1]) == (0, int(done.read_text()))
    assert b"\0" not in log.read_bytes()
    assert sorted(path.name for path in log.parent.glob("log*")) == ["log", "log.1", "log.2"]


async def test_closing_stops_everything(stage: Stage) -> None:
    async with Supervisor(stage.folder, World(), listener=stage.hear) as supervisor:
        await supervisor.ensure(stage.spec())
        await supervisor.ensure(stage.spec(name="other"))
        await stage.until(lambda: len(stage.lives) == 2)
    assert [start_of(pid) for pid in stage.lives] == [None, None]
    assert sum(isinstance(event, Stopped) for event in stage.events) == 2
