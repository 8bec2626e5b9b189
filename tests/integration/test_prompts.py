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
from support.proxmox_commands import CTRL_C, CTRL_D, Desk, at_a_terminal, desk

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


def test_the_terminal_shows_again_what_is_typed_after_ctrl_c_at_a_password(tmp_path: Path) -> None:
    shell = (
        f'{sys.executable} -c "{_PROGRAM.format(call=CALLS["Code of the second factor"], mark="x", runner="asyncio")}"'
    )
    script = tmp_path / "script"
    script.write_text(f"{shell}\nstty -a | tr ';' '\\n' | grep -w echo\n")
    code, printed = at_a_terminal(["/bin/bash", str(script)], os.environ, {"Code of the second factor": CTRL_C})
    assert (code, " echo " in f" {printed} ") == (0, True), printed


def test_every_question_of_the_commands_is_tested_here() -> None:
    questions = []
    for file in sorted(Path(nagaya.cli.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func)
            direct = name in ("input", "click.prompt", "click.confirm", "getpass.getpass", "getpass", "click.getchar")
            assert not direct or file.name == "prompt.py", f"{file.name}: ask with nagaya.cli.output.prompt"
            if name in ("ask", "confirm") and node.args:
                questions += [text.value for text in ast.walk(node.args[0]) if isinstance(text, ast.Constant)]
    assert len(questions) >= 10
    literal = [text for text in questions if isinstance(text, str) and len(text) > 5]
    for text in literal:
        assert any(key in text or text.startswith(key.rstrip("3 ")) for key in (*COMMANDS, *CALLS)), text
