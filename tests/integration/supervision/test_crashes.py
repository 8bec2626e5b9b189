"""The owner is killed at random moments, again and again: of one process there are never two, and none is forgotten."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nagaya.supervision.processes import start_of
from nagaya.supervision.supervisor import Supervisor
from nagaya.world import World
from support.thoroughness import seed_of

pytestmark = pytest.mark.long("kills the owner of a process at many random moments")

OWNER = Path(__file__).with_name("owner.py")
ROUNDS = 30
NAMES = ("steady", "dying", "changing")


def lives(workplace: Path, name: str) -> list[int]:
    path = workplace / name / "lives"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def test_there_are_never_two_of_one_however_the_owner_dies(tmp_path: Path) -> None:
    folder, workplace = tmp_path / "supervised", tmp_path / "work"
    workplace.mkdir()
    seed = int(os.environ.get("SEED", seed_of(1)))
    chance = random.Random(seed)
    said = tmp_path / "said"
    with said.open("w") as out:
        for number in range(ROUNDS):
            command = [sys.executable, OWNER, folder, workplace, str(number)]
            with subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT) as owner:
                began = time.monotonic()
                # Half of them die in the middle of their start, the others later.
                if number % 2:
                    seen = said.stat().st_size
                    while said.stat().st_size == seen and time.monotonic() - began < 120:
                        time.sleep(0.002)
                    time.sleep(chance.random() * 0.3)
                else:
                    time.sleep(0.15 + chance.random() * 0.35)
                os.kill(owner.pid, signal.SIGKILL)
            running = {name: [pid for pid in lives(workplace, name) if start_of(pid) is not None] for name in NAMES}
            assert all(len(pids) <= 1 for pids in running.values()), f"SEED={seed}: {running}\n{said.read_text()}"
    violations = [path for name in NAMES for path in (workplace / name).glob("two-*")]
    assert not violations, f"SEED={seed}\n{said.read_text()}"
    told = said.read_text()
    assert "steady was found running" in told, told
    assert "Traceback" not in told, told

    async def clean() -> None:
        async with Supervisor(folder, World()) as supervisor:
            await supervisor.retain(())

    asyncio.run(clean())
    left = [pid for name in NAMES for pid in lives(workplace, name) if start_of(pid) is not None]
    assert not left
    # The steady one was not restarted for nothing: it died with no owner but those that were killed in its very start.
    assert len(lives(workplace, "steady")) <= ROUNDS / 2
    assert [path.name for path in folder.iterdir()] == ["supervisor.lock"]
