"""Every question of every command in a pseudo-terminal: Ctrl-C ends the command with code 130, and nothing was done."""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import nagaya.cli
from support.proxmox_commands import CTRL_BACKSLASH, CTRL_C, CTRL_D, HANG_UP, Desk, at_a_terminal, desk
from support.running_server import NAGAYA

pytestmark = pytest.mark.long("starts Nagaya as users do, several processes one after the other")

CREATE = ("create", "cluster", "asked")
ON_PROXMOX = (*CREATE, "--infrastructure", "proxmox", "--control-plane", "kubeadm")
RANGES = {"Addresses for machines": "10.0.0.20-10.0.0.39", "Gateway of their network": "10.0.0.1"}

COMMANDS: Mapping[str, tuple[tuple[str, ...], Mapping[str, str]]] = {
    "Where are its machines": (CREATE, {}),
    "Where is its API": (CREATE, {"Where are its machines": "simulated"}),
    "How many workers": (CREATE, {"Where are its machines": "simulated", "Where is its API": "kubeadm"}),
    "Make these 7 objects": ((*CREATE, "--infrastructure", "simulated", "--control-plane", "kubeadm"), {}),
    "Addresses for machines": (ON_PROXMOX, {}),
    "Gateway of their network": (ON_PROXMOX, RANGES),
    "Address of the API": (ON_PROXMOX, RANGES),
    "Name servers of machines": ((*ON_PROXMOX, "--endpoint", "10.0.0.10"), RANGES),
    "Is this the certificate of your host": (("proxmox", "connect", "URL", "--name", "other"), {}),
    "Password of root@pam": (("proxmox", "connect", "URL", "--fingerprint", "FINGERPRINT"), {}),
    "Do this": (
        ("proxmox", "connect", "URL", "--name", "other", "--fingerprint", "FINGERPRINT"),
        {"Password of root@pam": "demo-password"},
    ),
    "Secret of ": (
        ("proxmox", "connect", "URL", "--name", "other", "--fingerprint", "FINGERPRINT", "--token", "a@pam!b"),
        {},
    ),
}
"""Question -> command, and the answers to the questions before."""

CALLS: Mapping[str, str] = {
    "Remove it": "gc._ask(1)",
    "Remove these 3": "gc._ask(3)",
    "Move 0 clusters": "move._ask(move.Way(None, None, move.Moved((), (), ())))",
    "Remove them": "await image._remove(None, removal, False, False, None, refuses=False)",
    "Code of the second factor": "await ask.code_of('totp')",
    "Recovery key of the second factor": "await ask.code_of('recovery')",
}
"""Questions that need a long preparation: asked by the function of the command, within an event loop as there."""

_PROGRAM = """
import asyncio, pathlib, signal, uvloop
from types import SimpleNamespace
from nagaya.cli import gc, move
from nagaya.cli.proxmox import ask, image

move.Way = lambda *_: SimpleNamespace(moved=SimpleNamespace(clusters=(), items=()))
move.Moved = lambda *_: None
removal = SimpleNamespace(going=[SimpleNamespace(vmid=1, name="a", host="b")], staying=[])

async def work():
    {call}
    await asyncio.sleep(0)
    pathlib.Path({mark!r}).touch()

{runner}.run(work())
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A management API without controllers, and an emulated Proxmox VE that is connected."""
    with desk(tmp_path_factory.mktemp("prompts")) as user:
        definitions = user.nagaya("crds").stdout
        user.kubectl("apply", "--server-side", "-f", "-", given=definitions)
        user.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=200s")
        connected = user.connect("--insecure", "an emulator", "--yes")
        assert connected.returncode == 0, connected.stderr
        yield user


def _state(table: Desk) -> str:
    kinds = "clusters,machinedeployments,kubeadmcontrolplanes,simulatedclusters,proxmoxclusters,proxmoxconnections"
    return table.kubectl("get", f"{kinds},secrets,simulatedmachinetemplates", "-A", "-o", "yaml")


@pytest.mark.parametrize("question", COMMANDS)
def test_ctrl_c_at_a_question_ends_the_command_and_nothing_was_done(table: Desk, question: str) -> None:
    words, answers = COMMANDS[question]
    typed = [{"URL": table.url, "FINGERPRINT": table.fingerprint}.get(word, word) for word in words]
    before = _state(table)
    code, printed = table.at_a_terminal({**answers, question: CTRL_C}, *typed)
    assert code == 130, printed
    assert printed.endswith("Stopped. Nothing was done.\r\n"), printed
    assert "Traceback" not in printed
    assert _state(table) == before


@pytest.mark.parametrize("runner", ["asyncio", "uvloop"])
@pytest.mark.parametrize("question", CALLS)
def test_ctrl_c_ends_a_question_within_an_event_loop(tmp_path: Path, question: str, runner: str) -> None:
    mark = tmp_path / "mark"
    program = _PROGRAM.format(call=CALLS[question], mark=str(mark), runner=runner)
    code, printed = at_a_terminal([sys.executable, "-c", program], os.environ, {re.escape(question): CTRL_C})
    assert code == 130, printed
    assert not mark.exists()


@pytest.mark.parametrize(("key", "ends"), [(CTRL_C, 130), (CTRL_D, 3)])
def test_ctrl_c_before_the_question_counts_and_ctrl_d_declines(tmp_path: Path, key: str, ends: int) -> None:
    mark = tmp_path / "mark"
    # Ctrl-C arrives while the loop is busy: its cancellation is delivered at the next await, after the question.
    call = "signal.raise_signal(signal.SIGINT); gc._ask(1)" if key == CTRL_C else "gc.click.echo('x'); gc._ask(1)"
    program = _PROGRAM.format(call=call, mark=str(mark), runner="asyncio").replace(
        "asyncio.run(work())", "gc.click.Command('x', callback=lambda: asyncio.run(work())).main([])"
    )
    code, printed = at_a_terminal([sys.executable, "-c", program], os.environ, {"Remove it": key})
    assert code == ends, printed
    assert not mark.exists()


@pytest.mark.parametrize("options", [(), ("--password-file", "-")])
@pytest.mark.parametrize(("key", "ends"), [("typed before" + CTRL_C, 130), (CTRL_BACKSLASH, 131), (CTRL_D, 3)])
def test_a_password_is_never_shown_and_the_terminal_is_as_before(
    table: Desk, tmp_path: Path, key: str, ends: int, options: tuple[str, ...]
) -> None:
    script, seen = tmp_path / "script", tmp_path / "seen"
    words = ("proxmox", "connect", table.url, "--fingerprint", table.fingerprint, *options)
    # The shell stays in the terminal and has to outlive the signals itself.
    script.write_text(f"trap : INT QUIT\n{NAGAYA} {' '.join(words)}\necho $? >{seen}\nstty -a >>{seen}\n")
    _, printed = at_a_terminal(["/bin/bash", str(script)], table.environment, {"Password of root@pam": key})
    code, _, settings = seen.read_text().partition("\n")
    assert code == str(ends), printed
    assert " echo " in settings.replace(";", " ")
    assert "typed before" not in printed


def test_every_question_of_the_commands_is_tested_here() -> None:
    questions = []
    for file in sorted(Path(nagaya.cli.__file__).parent.rglob("*.py")):
        source = file.read_text()
        assert "sys.stdin.readline" not in source or file.name == "prompt.py", f"{file.name}: read with the same"
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func)
            direct = name in ("input", "click.prompt", "click.confirm", "getpass.getpass", "getpass", "click.getchar")
            assert not direct or file.name == "prompt.py", f"{file.name}: ask with nagaya.cli.output.prompt"
            if name in ("ask", "confirm", "agree", "secret_from"):
                parts = [
                    part.value for argument in node.args for part in ast.walk(argument) if type(part) is ast.Constant
                ]
                questions.append([part for part in parts if isinstance(part, str) and len(part) > 4])
    literal = [parts for parts in questions if parts]
    assert len(literal) >= 14
    for parts in literal:
        known = [key for key in (*COMMANDS, *CALLS) for text in parts if key in text or text in key]
        assert known, parts


@pytest.mark.parametrize("question", CALLS)
def test_a_closed_terminal_ends_a_question(tmp_path: Path, question: str) -> None:
    mark = tmp_path / "mark"
    program = _PROGRAM.format(call=CALLS[question], mark=str(mark), runner="asyncio")
    code, _ = at_a_terminal([sys.executable, "-c", program], os.environ, {re.escape(question): HANG_UP})
    assert code == 129
    assert not mark.exists()
