"""The real cloud-init, unpacked beside the tests: what it makes of user data at boot."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.debian import needed

SYSTEM_PYTHON = Path("/usr/bin/python3")

# Its own functions in the order in which it calls them at boot, and its own command; starting it anew for each of many
# machines would take a second each time.
_AT_BOOT = """
import contextlib, io, json, sys, tempfile
from cloudinit import util
from cloudinit.cmd import main
from cloudinit.handlers.jinja_template import render_jinja_payload

def schema(rendered):
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file, io.StringIO() as said:
        file.write(rendered)
        file.flush()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            try:
                code = main.main(["cloud-init", "schema", "-c", file.name])
            except SystemExit as end:
                code = end.code
        return said.getvalue() if code else ""

answers = []
asked = json.load(sys.stdin)
for data in asked["data"]:
    rendered = render_jinja_payload(data, "user-data", asked["instance"])
    config = util.load_yaml(rendered)
    script = util.shellify(config.get("runcmd", []))
    answers.append({"config": config, "script": script, "rendered": rendered, "complaints": schema(rendered)})
json.dump(answers, sys.stdout)
"""


@dataclass(frozen=True, slots=True)
class AtBoot:
    """What a machine reads."""

    config: dict[str, Any]
    script: str
    """The shell script that runcmd becomes."""
    rendered: str
    """The cloud-config after Jinja."""
    complaints: str
    """What `cloud-init schema` finds wrong; empty if nothing is."""


class CloudInit:
    """One unpacked cloud-init. Nothing it does here touches this machine."""

    def __init__(self, root: Path) -> None:
        self._program = root / "usr" / "bin" / "cloud-init"
        self._environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(root / "usr" / "lib" / "python3" / "dist-packages"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def boots(self, user_data: Sequence[bytes], instance: Mapping[str, Any]) -> list[AtBoot]:
        """What machines with these instance data read."""
        asked = json.dumps({"data": [each.decode() for each in user_data], "instance": instance})
        done = self._run(["-c", _AT_BOOT], asked)
        assert done.returncode == 0, done.stderr
        return [AtBoot(**each) for each in json.loads(done.stdout)]

    def check(self, rendered: str) -> tuple[int, str]:
        """How `cloud-init schema -c FILE` ends, and what it says."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "user-data"
            path.write_text(rendered, encoding="utf-8")
            done = self._run([str(self._program), "schema", "-c", str(path)], "")
        return done.returncode, done.stdout + done.stderr

    def _run(self, arguments: list[str], given: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [SYSTEM_PYTHON, *arguments],
            input=given,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


def unpacked_cloud_init() -> CloudInit:
    """The real one; skips the test, with the reason, where it is missing."""
    folder = needed()
    if not SYSTEM_PYTHON.exists():
        pytest.skip(f"there is no {SYSTEM_PYTHON}, which Debian's cloud-init runs on")
    return CloudInit(folder / "root")
