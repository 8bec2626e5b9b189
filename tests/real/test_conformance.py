"""Kubernetes' own end-to-end tests, unchanged, against the embedded server.

`conformance.txt` names the conformance tests that are the floor; `without_pods.txt` those other tests of the suite that
need no pod. The suite runs once: in several processes at the same time, because its tests mostly wait. Those that the
suite wants to have the server for themselves (`[Serial]`) get a server of their own. Each name is then one test here.
The suite takes minutes to build and to run, so that only `make test-all` runs it.
"""

from __future__ import annotations

import os
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
from support.thoroughness import exhaustive

_FOLDER = Path(__file__).parent


def _listed(file: str) -> list[str]:
    lines = (_FOLDER / file).read_text().splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


FLOOR = [f"{name} [Conformance]" for name in _listed("conformance.txt")]
OTHERS = _listed("without_pods.txt")
SUITE_TIMEOUT = 800.0
pytestmark = [pytest.mark.timeout(SUITE_TIMEOUT + 60), exhaustive]
SLOW = ("CustomResourceDefinition Watch", "CustomResourcePublishOpenAPI")
"""What takes a minute each goes into processes of its own."""
SHARES = 4
"""The processes that share the other tests: enough that waiting overlaps, few enough for two cores."""


@dataclass(frozen=True, slots=True)
class Result:
    """How one test ended."""

    status: str
    words: str


def groups() -> Iterator[list[str]]:
    """The names by the process that runs them; the last ones want to be alone with the server."""
    serial = [name for name in (*FLOOR, *OTHERS) if "[Serial]" in name]
    for words in SLOW:
        yield [name for name in FLOOR if words in name]
    yield [name for name in FLOOR if name not in serial and not any(words in name for words in SLOW)]
    # Neighbours in the list are alike, also in how long they take.
    others = [name for name in OTHERS if name not in serial]
    for share in range(SHARES):
        yield others[share::SHARES]
    yield serial


def run_suite(binaries: Binaries, kubeconfig: Path, names: list[str], folder: Path) -> dict[str, Result]:
    """Run these tests and read the report."""
    report = folder / "report.xml"
    # Python escapes blanks, which Go does not understand.
    focus = "|".join(f"{re.escape(name)}$".replace("\\ ", " ") for name in names)
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
        env={"HOME": str(folder), "PATH": os.environ["PATH"]},  # kubectl diff runs diff
        capture_output=True,
        text=True,
        timeout=SUITE_TIMEOUT,
        check=False,
    )
    if not report.exists():
        words = f"the suite ended with {done.returncode} and without a report:\n{(done.stdout + done.stderr)[-3000:]}"
        return dict.fromkeys(names, Result("missing", words))
    return read_report(report, names)


def read_report(report: Path, names: list[str]) -> dict[str, Result]:
    """How each of these tests ended. The report has their labels after their names."""
    found = {}
    longest_first = sorted(names, key=len, reverse=True)
    for case in xml.parse(report).iter("testcase"):
        text = case.get("name", "").removeprefix("[It] ")
        name = next((each for each in longest_first if text.startswith(each)), None)
        if name is not None and case.get("status") != "skipped":
            problems = [f"{part.get('message', '')}\n{part.text or ''}" for part in case if part.tag != "system-err"]
            found[name] = Result(case.get("status", ""), "\n".join(problems))
    return found


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    """How each test of the suite ended."""
    binaries = installed_binaries(("e2e.test", "kubectl"))
    parts = list(groups())
    with RunningServer() as floor, RunningServer() as others, RunningServer() as alone:
        servers = [floor] * (len(SLOW) + 1) + [others] * SHARES + [alone]
        folders = [tmp_path_factory.mktemp("e2e") for _ in parts]
        with ThreadPoolExecutor(len(parts)) as pool:
            runs = [
                pool.submit(run_suite, binaries, server.kubeconfig, names, folder)
                for server, names, folder in zip(servers, parts, folders, strict=True)
            ]
            return {name: result for run in runs for name, result in run.result().items()}


def check(name: str, results: dict[str, Result]) -> None:
    """That a test of the suite was run and passed."""
    result = results.get(name)
    assert result is not None, "the suite has no such test"
    assert result.status == "passed", result.words


@pytest.mark.parametrize("name", FLOOR)
def test_conformance(name: str, results: dict[str, Result]) -> None:
    check(name, results)


@pytest.mark.parametrize("name", OTHERS)
def test_without_pods(name: str, results: dict[str, Result]) -> None:
    check(name, results)
