from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from nagaya.simulators.netns.command import CommandFailed, attempt, run


async def test_a_command_that_fails_is_reported_with_what_it_said() -> None:
    with pytest.raises(CommandFailed, match="ended with 3: oh no"):
        await run("sh", "-c", "echo oh no; exit 3")
    with pytest.raises(CommandFailed, match=r"did not end within 0\.1 s"):
        await attempt(["sleep", "30"], timeout=0.1)
    assert (await attempt(["cat"], b"x")).text == "x"


async def test_a_command_that_is_cancelled_leaves_no_process(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    task = asyncio.create_task(attempt(["sh", "-c", f"echo $$ > {mark}; exec sleep 30"]))
    while not mark.exists() or not mark.read_text():  # noqa: ASYNC110  # a file tells nobody
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert not Path(f"/proc/{mark.read_text().strip()}").exists()
