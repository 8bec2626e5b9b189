"""Kubernetes' own conformance tests, unchanged, against the embedded server.

The suite runs once: in several processes at the same time, because its tests mostly wait. Those that the suite wants
to have the server for themselves (`[Serial]`) get a server of their own. Each name in `conformance.txt` is then one
test here.
"""

from __future__ import annotations

import re
import subprocess
import xml.etree.ElementTree as xml
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from nagaya.binaries.installer import Binaries
from support.real import installed_binaries
from support.running_server import RunningServer

_LINES = (Path(__file__).parent / "conformance.txt").read_text().splitlines()
NAMES = [line.strip() for line in _LINES if line.strip() and not line.startswith("#")]
SUITE_TIMEOUT = 280.0
SLOW = ("CustomResourceDefinition Watch", "CustomResourcePublishOpenAPI")
"""What takes a minute each goes into processes of its own."""


@dataclass(frozen=True, slots=True)
class Result:
    """How one test ended."""

    status: str
    words: str


def groups() -> Iterator[list[str]]:
    """The names by the process that runs them; the last ones want to be alone with the server."""
    serial = [name for name in NAMES if "[Serial]" in name]
    for words in SLOW:
        yield [name for name in NAMES if words in name]
    yield [name for name in NAMES if name not in serial and not any(words in name for words in SLOW)]
    yield serial


def run_suite(binaries: Binaries, kubeconfig: Path, names: list[str], folder: Path) -> dict[str, Result]:
    """Run these tests and read the report."""
    report = folder / "report.xml"
    # Python escapes blanks, which Go does not understand.
    focus = "|".join(re.escape(f"{name} [Conformance]").replace("\\ ", " ") for name in names)
    command = [
        binaries.path("e2e.test"),
        f"--kubeconfig={kubeconfig}",
        f"--kubectl-path={binaries.path('kubectl')}",
        "--provider=skeleton",
        "--num-nodes=0",
        "--allowed-not-ready-nodes=-1",
        "--minStartupPods=-1",
        "--e2e-verify-service-account=false",
        "--dump-logs-on-failure=false",
        f"--ginkgo.focus={focus}",
        f"--ginkgo.junit-report={report}",
        f"--ginkgo.timeout={SUITE_TIMEOUT - 20:.0f}s",
        "--ginkgo.no-color",
        "--ginkgo.silence-skips",
        f"--report-dir={folder}",
    ]
    done = subprocess.run(
        command,
        cwd=folder,
        env={"HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=SUITE_TIMEOUT,
        check=False,
    )
    if not report.exists():
        words = f"the suite ended with {done.returncode} and without a report:\n{(done.stdout + done.stderr)[-3000:]}"
        return dict.fromkeys(names, Result("missing", words))
    return read_report(report)


def read_report(report: Path) -> dict[str, Result]:
    """Every test that was not skipped, by its name without the labels after it."""
    found = {}
    for case in xml.parse(report).iter("testcase"):
        name = case.get("name", "").removeprefix("[It] ").partition(" [Conformance]")[0]
        if case.get("status") != "skipped":
            problems = [f"{part.get('message', '')}\n{part.text or ''}" for part in case if part.tag != "system-err"]
            found[name] = Result(case.get("status", ""), "\n".join(problems))
    return found


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    """How each test of the suite ended."""
    binaries = installed_binaries(("e2e.test", "kubectl"))
    parts = list(groups())
    with RunningServer() as shared, RunningServer() as alone, ThreadPoolExecutor(len(parts)) as pool:
        servers = [shared] * (len(parts) - 1) + [alone]
        folders = [tmp_path_factory.mktemp("e2e") for _ in parts]
        runs = [
            pool.submit(run_suite, binaries, server.kubeconfig, names, folder)
            for server, names, folder in zip(servers, parts, folders, strict=True)
        ]
        return {name: result for run in runs for name, result in run.result().items()}


@pytest.mark.parametrize("name", NAMES)
def test_conformance(name: str, results: dict[str, Result]) -> None:
    result = results.get(name)
    assert result is not None, "the suite has no such test"
    assert result.status == "passed", result.words
