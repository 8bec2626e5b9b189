from __future__ import annotations

import asyncio
import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nagaya.kube.exec_plugin import API_VERSIONS, ExecCredentials, ExecPlugin, InteractiveMode, PluginFailed

V1 = API_VERSIONS[0]


class Clock:
    def __init__(self) -> None:
        self.date = datetime(2026, 11, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.date

    def monotonic(self) -> float:
        return self.date.timestamp()


class Program:
    """A plugin that prints what the test says, and keeps count of its runs."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "login"
        self.printed = folder / "printed"
        self.runs = folder / "runs"
        self.path.write_text(
            f"#!{sys.executable} -S\n"
            "import os, sys\n"
            f"open({str(self.runs)!r}, 'a').write(os.environ['KUBERNETES_EXEC_INFO'] + chr(10))\n"
            f"sys.stdout.write(open({str(self.printed)!r}).read())\n"
            "sys.exit(int(os.environ.get('STATUS', 0)))\n"
        )
        self.path.chmod(0o755)

    def prints(self, status: Any, version: str = V1) -> None:
        content = {"apiVersion": version, "kind": "ExecCredential", "status": status}
        self.printed.write_text(json.dumps(content))

    @property
    def told(self) -> list[Any]:
        return [json.loads(line) for line in self.runs.read_text().splitlines()]

    def plugin(self, version: str = V1, mode: InteractiveMode = "Never", **environment: str) -> ExecPlugin:
        return ExecPlugin(
            version, str(self.path), (), tuple(environment.items()), mode, cluster='{"server":"https://a"}'
        )


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


@pytest.mark.parametrize("version", API_VERSIONS)
async def test_a_token_is_kept_until_it_expires(program: Program, version: str) -> None:
    clock = Clock()
    program.prints({"token": "one", "expirationTimestamp": "2026-11-01T01:00:00Z"}, version)
    credentials = ExecCredentials(program.plugin(version), clock)
    assert {each.token for each in await asyncio.gather(*(credentials.get() for _ in range(5)))} == {"one"}
    program.prints({"token": "two"}, version)
    assert (await credentials.get()).token == "one"
    clock.date += timedelta(hours=1)
    assert (await credentials.get()).token == "two"
    clock.date += timedelta(days=1000)
    assert (await credentials.get()).token == "two"
    spec = {"interactive": False, "cluster": {"server": "https://a"}}
    assert program.told == [{"apiVersion": version, "kind": "ExecCredential", "spec": spec}] * 2


async def test_refused_credentials_are_renewed_once(program: Program) -> None:
    program.prints({"token": "one"})
    credentials = ExecCredentials(program.plugin(), Clock())
    first = await credentials.get()
    program.prints({"token": "two"})
    assert await asyncio.gather(*(credentials.renew(first) for _ in range(3))) == [True] * 3
    assert len(program.told) == 2
    assert (await credentials.get()).token == "two"
    assert not await credentials.renew(await credentials.get())


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (None, "printed no status"),
        ({}, "neither a token nor a certificate"),
        ({"clientCertificateData": "x"}, "but not both"),
        ({"token": 5}, "status.token that is not text"),
        ({"token": "secret-token", "expirationTimestamp": "soon"}, "expirationTimestamp that is not a date"),
    ],
)
async def test_an_answer_of_no_use_is_explained_without_quoting_it(program: Program, status: Any, message: str) -> None:
    program.prints(status)
    with pytest.raises(PluginFailed, match=message) as caught:
        await ExecCredentials(program.plugin(), Clock()).get()
    assert "secret-token" not in str(caught.value)


async def test_words_that_are_no_credentials_are_not_shown(program: Program) -> None:
    for text, message in (("secret words", "not JSON"), ('{"kind": "secret"}', "not an ExecCredential")):
        program.printed.write_text(text)
        with pytest.raises(PluginFailed, match=message) as caught:
            await ExecCredentials(program.plugin(), Clock()).get()
        assert "secret" not in str(caught.value)


async def test_another_version_is_refused(program: Program) -> None:
    program.prints({"token": "x"}, API_VERSIONS[1])
    with pytest.raises(PluginFailed, match="make them equal"):
        await ExecCredentials(program.plugin(), Clock()).get()


async def test_a_program_that_fails_is_named(program: Program) -> None:
    program.prints({"token": "x"})
    with pytest.raises(PluginFailed, match="ended with status 3"):
        await ExecCredentials(program.plugin(STATUS="3"), Clock()).get()


async def test_a_program_that_is_missing_comes_with_its_hint() -> None:
    plugin = ExecPlugin(V1, "no-such-program", install_hint="Get it from the harbour.")
    with pytest.raises(PluginFailed, match=r"is not installed\. Get it from the harbour\."):
        await ExecCredentials(plugin, Clock()).get()


async def test_a_program_that_needs_a_person_is_not_run_without_one(program: Program) -> None:
    with pytest.raises(PluginFailed, match="standard input is no terminal"):
        await ExecCredentials(program.plugin(mode="Always"), Clock()).get()
