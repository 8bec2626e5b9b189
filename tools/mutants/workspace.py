"""A copy of the checkout in which tests run against a mutant.

The copy has its own virtual environment, so that the programs that tests start import the copy too, and the checkout
itself never changes.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import pytest
from candidates import Mutant

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = Path(__file__).with_name("plugins.py").resolve()
MEMORY = 4 << 30
"""Bytes that a process may have: a mutant may loop and fill the memory of the machine."""


class Stopped(Exception):
    """The user stopped the program."""


class Workspace:
    """A copy of the checkout with its own virtual environment. Every process started here imports the copy."""

    def __init__(self, path: Path) -> None:
        path.parent.chmod(0o755)  # some tests become another user, who has to read the copy
        self.path, self.temporary, self.stopped = path, path.with_name(f"t{path.name}"), False
        self._writes = count(1)
        hidden = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", ".nagaya", "__pycache__")
        shutil.copytree(ROOT, path, ignore=hidden, symlinks=True)
        prefix, copy = Path(sys.prefix), path / ".venv"
        venv.create(copy, symlinks=True)
        installed = str(Path(find_spec("nagaya").origin).parents[1])
        packages = Path(sysconfig.get_path("purelib")).relative_to(prefix)
        for folder in (".", "bin", packages):
            for entry in (prefix / folder).iterdir():
                new = copy / folder / entry.name
                if entry.is_file() and (entry.suffix == ".pth" or entry.open("rb").read(2) == b"#!"):
                    shutil.copy(entry, new)
                    new.write_text(new.read_text().replace(installed, f"{path}/src").replace(f"{prefix}/", f"{copy}/"))
                elif not new.exists():
                    new.symlink_to(entry)
        (copy / packages / "mutant_plugins.py").symlink_to(PLUGINS)
        imported = subprocess.check_output([copy / "bin/python", "-c", "import nagaya; print(nagaya.__file__)"], env={})
        if not imported.decode().startswith(str(path)):
            raise SystemExit(f"Cannot isolate the mutants: the copy imports {imported.decode()}. Run `make install`.")

    @contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[None]:
        """Have the mutant in the copy."""
        path = self.path / mutant.file
        source, stat = path.read_bytes(), path.stat()
        path.write_bytes(mutant.apply(source))
        os.utime(path, (0, next(self._writes)))  # compiled files are found by time and size: no two may have the same
        try:
            yield
        finally:
            path.write_bytes(source)
            os.utime(path, (stat.st_atime, stat.st_mtime))

    def pytest(self, *arguments: str, limit: float | None = None, quiet: bool = True, **environment: str) -> int | None:
        """Run pytest in the copy; returns its exit code, None after the time limit."""
        shutil.rmtree(self.path / ".hypothesis", ignore_errors=True)  # else a failure for one mutant is tried on all
        options = (
            "-p",
            "mutant_plugins",
            "-p",
            "no:cacheprovider",
            "--hypothesis-seed=0",
            f"--basetemp={self.temporary}",
        )
        process = subprocess.Popen(
            [self.path / ".venv/bin/pytest", *options, *arguments],
            cwd=self.path,
            env={**os.environ, "VIRTUAL_ENV": str(self.path / ".venv"), "COVERAGE_CORE": "ctrace", **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL if quiet else None,
            stderr=subprocess.DEVNULL if quiet else None,
            start_new_session=True,
        )
        resource.prlimit(process.pid, resource.RLIMIT_DATA, (MEMORY, MEMORY))
        try:
            code = None if self.stopped else process.wait(limit)
            if self.stopped:
                raise Stopped
            return code
        except subprocess.TimeoutExpired:
            return None
        finally:
            process.kill()
            self.kill()
            process.wait()

    def stop(self) -> None:
        """Have the thread that works here end."""
        self.stopped = True
        self.kill()

    def kill(self) -> None:
        """End all processes of the copy, also those in sessions of their own."""
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                command = (entry / "cmdline").read_bytes()
                if any(os.fsencode(path) + b"/" in command for path in (self.path, self.temporary)):
                    os.kill(int(entry.name), signal.SIGKILL)

    def check(self, tests: Sequence[str], limit: float) -> tuple[str, list[str]]:
        """Run tests until the first fails; returns passed, killed or timeout, and the tests that failed."""
        selection = self.path.with_name(f"{self.path.name}.json")
        failures = selection.with_suffix(".failed")
        selection.write_text(json.dumps(tests))
        failures.unlink(missing_ok=True)
        files = sorted({test.split("::")[0] for test in tests})
        existing = [file for file in files if (self.path / file).exists()]
        code = self.pytest("-x", "-q", *existing, limit=limit, MUTANTS_SELECT=str(selection)) if existing else 0
        if code is None or code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            return ("timeout", list(tests)) if code is None else ("passed", [])
        failed = set(failures.read_text().splitlines()) if failures.exists() else set()
        return "killed", [test for test in tests if {test, test.split("::")[0]} & failed] or list(tests)
