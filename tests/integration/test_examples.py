"""The commands in the READMEs of the examples, typed by a shell, do what they say."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.conftest import Tool
from support.running_server import RunningServer

pytestmark = pytest.mark.long("types every command of an example, on servers of its own")

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDERS = sorted(path.parent for path in EXAMPLES.glob("*/README.md"))
_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_example_is_listed() -> None:
    listed = re.findall(r"\]\((\S+)/README\.md\)", (EXAMPLES / "README.md").read_text())
    assert listed == [folder.name for folder in FOLDERS]


@pytest.fixture(scope="module")
def plane() -> Iterator[RunningServer]:
    """What `make up` starts: the API and its controllers."""
    with RunningServer(controllers=True) as server:
        yield server


@pytest.mark.parametrize("folder", FOLDERS, ids=[folder.name for folder in FOLDERS])
def test_an_example_works_as_written(folder: Path, kubectl: Tool, plane: RunningServer, tmp_path: Path) -> None:
    here = tmp_path / folder.name
    shutil.copytree(folder, here)
    blocks = _BLOCK.findall((folder / "README.md").read_text())
    assert blocks
    # "!" alone does not end a script that should fail but does not.
    script = re.sub(r"^! (.*)$", r"if \1; then exit 1; fi", "\n".join(blocks), flags=re.MULTILINE)
    environment = kubectl.variables({"KUBECONFIG": str(plane.kubeconfig)})
    environment["PATH"] = f"{kubectl.program.parent}:{environment['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=here,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
