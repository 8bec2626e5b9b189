"""Runs what is behind `make check`, `make test` and `make test-all`, several commands at a time, and prints the cost.

Two processors are the target. Tiers that wait (real servers, processes, documentation) run next to tiers that compute
(unit, simulation), in separate pytest processes. The computing tiers have a lower priority, so that they fill the gaps
and do not delay the servers that the others wait for. Each pytest process records its tests (`--times`, see
tests/support/costs.py); the table, the slowest tests and the summary of skipped tests come from these records.

With `--coverage FOLDER` all processes of the tests, also the programs that they start, record which lines and branches
of Nagaya they execute; the shares per package are printed at the end. Programs that a test kills record nothing.

Nothing is installed, downloaded or built here: the Makefile does that first.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
PROCESSORS = len(os.sched_getaffinity(0))
MOST_SERVERS = 16
"""Workers of the tiers that start servers, at most: each may need 1 GB of memory."""
MOST_CRASHES = 3
"""Workers of one pytest process that may crash until it gives up."""
SOURCES = (ROOT / "src/nagaya", ROOT / "tests/unit")
TIERS = ("unit", "simulation", "integration", "real", "docs")
QUICK_CPU, QUICK_WALL = 0.04, 0.2
"""Seconds above which `make check` leaves a unit test out."""
LONG = 5.0
"""Seconds above which a test states its reason with `@pytest.mark.long`. Waiting for a processor does not count."""
SLOWEST = 10
INOTIFY, INOTIFY_INSTANCES = Path("/proc/sys/fs/inotify/max_user_instances"), 1024
SETTINGS = "coverage.ini"
NOT_INSTALLED = "missing program: "
"""How the reason of a test begins that was skipped for want of a program (tests/support/real.py)."""
BUILD_MINUTES = 12
PROGRESS_INTERVAL = 30.0
GRACE = 15.0
"""Seconds that interrupted children have to end their own processes."""
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, a polite kill, and a terminal that was closed."""
POLL = 0.1
"""Seconds between two looks at all children; waiting for one of several processes needs threads otherwise."""


@dataclass(slots=True)
class Step:
    """One command, and how it ended."""

    name: str
    command: Sequence[str]
    nice: int = 0
    began: float = 0.0
    seconds: float = 0.0
    code: int | None = None
    child: subprocess.Popen[bytes] | None = None
    output: Path = field(default_factory=Path)

    def start(self, folder: Path) -> None:
        """Start the command in a process group of its own; its output goes to a file."""
        self.output = folder / self.name.replace(" ", "-")
        self.began = time.monotonic()
        command = ["nice", "-n", str(self.nice), *self.command] if self.nice else self.command
        with self.output.open("wb") as output:
            self.child = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )

    def has_ended(self) -> bool:
        """Whether the command has ended; keeps its code and its time when it has."""
        if self.child is None or self.code is not None:
            return self.code is not None
        self.code = self.child.poll()
        self.seconds = time.monotonic() - self.began
        return self.code is not None


def thorough() -> bool:
    """Whether every variant is played (tests/support/thoroughness.py)."""
    return os.environ.get("NAGAYA_TEST_ALL", "") not in ("", "0")


def run(chains: Sequence[Sequence[Step]], folder: Path) -> bool:
    """Run the steps of each chain one after the other, and the chains next to each other.

    Prints each step as it ends, with its output if it failed. Returns whether all succeeded. Ctrl-C ends all of them.
    """
    steps = [step for chain in chains for step in chain]
    progress = Progress(folder)
    try:
        while True:
            for chain in chains:
                for step in chain:
                    if step.code is not None:
                        continue
                    if step.child is None:
                        step.start(folder)
                    elif step.has_ended():
                        progress.ended(step)
                        continue
                    break
            if all(step.code is not None for step in steps):
                return not any(step.code for step in steps)
            progress.tick()
            time.sleep(POLL)
    except BaseException:
        _stop([step.child for step in steps if step.child is not None and step.code is None])
        raise


def _stop(children: Sequence[subprocess.Popen[bytes]]) -> None:
    """Interrupt the children, which then end the servers that they started; kill what is left after a while."""
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)  # a second Ctrl-C would leave the servers running
    with contextlib.suppress(OSError):  # the terminal may be closed
        print(f"Stopping; this takes up to {GRACE:.0f} s.", file=sys.stderr, flush=True)
    end = time.monotonic() + GRACE
    for sent in (signal.SIGINT, signal.SIGKILL):
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, sent)
        for child in children:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(max(0.1, end - time.monotonic()))


class Progress:
    """Prints what happens while the steps run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._began = self._spoke = time.monotonic()
        self._named: set[str] = set()

    def ended(self, step: Step) -> None:
        """Print one line for a step, and its output if it failed: of pytest's output what follows the dots."""
        if step.code != 0:
            output = step.output.read_text(errors="replace").rstrip()
            report = re.search(r"^=+ (ERRORS|FAILURES) =+$", output, re.MULTILINE)
            print(f"\n{output[report.start() :] if report else output}\n")
        print(f"{'ok' if step.code == 0 else 'FAILED':<6} {step.name:<28} {step.seconds:6.1f} s", flush=True)

    def tick(self) -> None:
        """Print the number of tests every half minute, and the names of those that failed since."""
        now = time.monotonic()
        if now - self._spoke < PROGRESS_INTERVAL:
            return
        self._spoke = now
        records = read_records(self._folder)
        failed = {record["test"] for record in records if record["outcome"] == "failed"}
        for test in sorted(failed - self._named):
            print(f"FAILED {test}")
        self._named |= failed
        print(f"...    {now - self._began:.0f} s, {len(records):,} tests", flush=True)


def read_records(folder: Path) -> list[dict[str, Any]]:
    """All records in the order in which the tests ended, as far as that is known; an unfinished line is left out."""
    files = sorted(folder.glob("*.jsonl"))
    lines = (line for file in files for line in file.read_text().splitlines(keepends=True))
    return [json.loads(line) for line in lines if line.endswith("\n")]


def lint(paths: Sequence[str]) -> list[Step]:
    """Format, lint and import contracts."""
    return [
        Step("ruff format", [f"{BIN}/ruff", "format", "--check", "--quiet", *paths]),
        Step("ruff check", [f"{BIN}/ruff", "check", "--quiet", *paths]),
        Step("import contracts", [f"{BIN}/lint-imports", "--no-logo"]),
    ]


def types() -> Step:
    """The types of the whole package; mypy's cache makes a small change cheap."""
    return Step("types", [f"{BIN}/mypy"])


def pytest(name: str, folder: Path, *arguments: str, nice: int = 0, coverage: Path | None = None) -> Step:
    """One pytest process."""
    times = folder / f"{name.replace(' ', '-')}.jsonl"
    program = [f"{BIN}/pytest"]
    if coverage is not None:
        program = [f"{BIN}/coverage", "run", f"--rcfile={coverage / SETTINGS}", *program]
    return Step(name, [*program, "-q", "--times", str(times), *arguments], nice=nice)


def name_package(given: str) -> str:
    """Translate a path or a dotted name into a path below src/nagaya or tests/unit; `.` is all of it."""
    path = (ROOT / given).resolve()
    if path in (ROOT, *SOURCES):
        return "."
    for folder in SOURCES:
        if path.is_relative_to(folder):
            return str(path.relative_to(folder).with_suffix(""))
    return given.strip("/").removesuffix(".py").replace(".", "/").removeprefix("nagaya/") or "."


def check(package: str, folder: Path) -> bool:
    """Everything that is fast; with a package only what concerns it."""
    # Rewriting the assertions of all tests takes longer than most tests: only those that fail need it.
    quick = ("-m", "not slow")
    whole = pytest("unit tests", folder, "-n", str(PROCESSORS), "--assert=plain", *quick, "tests/unit")
    name = name_package(package) if package else "."
    if name == ".":
        passed = run([[types()], lint(["."]), [whole]], folder)
        failed = [record["test"] for record in read_records(folder) if record["outcome"] == "failed"]
        if failed:
            run([[pytest("failed tests again", folder, *failed)]], folder)
        return passed
    found = [path for root in SOURCES for path in (root / name, root / f"{name}.py") if path.exists()]
    if not found:
        sys.exit(f"PKG={package}: there is no such package or file in src/nagaya or tests/unit.")
    # The tests of a module are beside those of its package.
    beside = (found[-1], *(SOURCES[1] / name).parents)
    tests = next(path for path in beside if path.exists() and path.is_relative_to(SOURCES[1]))
    step = whole if tests == SOURCES[1] else pytest("unit tests", folder, *quick, str(tests))
    return run([[*lint([str(path) for path in found]), types()], [step]], folder)


def raise_inotify_limit() -> None:
    """Allow more inotify instances if root runs the tests.

    A control plane uses about 15 and a kubelet six. One test run was seen to use 130, and Linux allows a user 128 on
    the whole machine. containerd does not serve kubelets without one.
    """
    try:
        if int(INOTIFY.read_text()) < INOTIFY_INSTANCES:
            INOTIFY.write_text(f"{INOTIFY_INSTANCES}\n")
            print(f"Set fs.inotify.max_user_instances to {INOTIFY_INSTANCES}, until this machine restarts.", flush=True)
    except OSError:
        pass  # not root, or a container that may not change it; the limit may suffice


def test(folder: Path, coverage: Path | None) -> bool:
    """Every tier."""
    raise_inotify_limit()
    common = [f"--max-worker-restart={MOST_CRASHES}"]
    if thorough():
        seed = os.environ.setdefault("NAGAYA_TEST_SEED", str(secrets.randbits(32)))
        common.append(f"--hypothesis-seed={seed}")
        print(f"Random tests draw new examples. To draw these again: NAGAYA_TEST_SEED={seed} make test-all", flush=True)
    computing = pytest(
        "unit and simulation",
        folder,
        *("-n", str(PROCESSORS), "--dist=worksteal", *common),
        *("tests/unit", "tests/simulation"),
        nice=10,
        coverage=coverage,
    )
    waiting = pytest(
        "integration, real and docs",
        folder,
        *("-n", str(min(2 * PROCESSORS, MOST_SERVERS)), "--dist=loadscope", *common),
        *("tests/docs", "tests/real", "tests/integration"),  # the longest first
        coverage=coverage,
    )
    return run([[waiting], [*lint(["."]), types(), computing]], folder)


def slow_tests(records: Sequence[dict[str, Any]]) -> list[str]:
    """Unit tests that are too expensive for `make check`; of a parametrised test the most expensive case counts."""
    expensive = (record["test"] for record in records if record["cpu"] > QUICK_CPU or record["seconds"] > QUICK_WALL)
    return sorted({test.split("[")[0] for test in expensive if test.startswith("tests/unit/")})


def print_table(records: Sequence[dict[str, Any]], wall: float) -> None:
    """What each tier costs, and the slowest tests."""
    by_tier = defaultdict(list)
    for record in records:
        by_tier[record["test"].split("/")[1]].append(record)
    print(f"\n{'tier':<14}{'tests':>8}{'skipped':>9}{'failed':>8}{'seconds':>9}{'CPU s':>8}")
    for tier in [*(name for name in TIERS if name in by_tier), "all"]:
        rows = records if tier == "all" else by_tier[tier]
        counts = [sum(row["outcome"] == outcome for row in rows) for outcome in ("skipped", "failed")]
        spent = [sum(row[key] for row in rows) for key in ("seconds", "cpu")]
        print(f"{tier:<14}{len(rows):>8,}{counts[0]:>9,}{counts[1]:>8,}{spent[0]:>9,.0f}{spent[1]:>8,.0f}")
    print(f"{'wall time':<39}{wall:>9,.0f}")
    slowest = sorted(records, key=lambda record: -record["seconds"])
    print(f"\nThe {SLOWEST} slowest tests:")
    for record in slowest[:SLOWEST]:
        print(f"{record['seconds']:7.1f} s  {record['test']}")
    unexplained = [row for row in slowest if row["seconds"] - row["delay"] > LONG and not row["stated"]]
    if unexplained:
        files = sorted({record["test"].split("::")[0] for record in unexplained})
        print(f"\n{len(unexplained)} tests took more than {LONG:g} s without @pytest.mark.long(reason), in:")
        print("\n".join(f"  {file}" for file in files))


def begin_coverage(folder: Path) -> None:
    """Write the settings of coverage.py, which records into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        sys.exit(f"--coverage {folder}: the folder is not empty. Name a new one.")
    settings = ["branch = true", "parallel = true", "patch = subprocess, _exit", "disable_warnings = no-data-collected"]
    settings += [f"include = {ROOT / 'src/nagaya/*'}", f"data_file = {folder.absolute() / 'data'}"]
    (folder / SETTINGS).write_text("\n".join(["[run]", *settings, ""]))


def print_coverage(folder: Path) -> None:
    """The share of lines and branches that were executed, per package of Nagaya."""
    report = folder / "report.json"
    for command in (["combine", "--quiet"], ["json", "--quiet", "-o", str(report)]):
        subprocess.run([f"{BIN}/coverage", command[0], f"--rcfile={folder / SETTINGS}", *command[1:]], check=True)
    parts = ("covered_lines", "num_statements", "covered_branches", "num_branches")
    sums: dict[str, list[int]] = defaultdict(lambda: [0] * len(parts))
    for name, file in json.loads(report.read_text())["files"].items():
        package = Path(name.partition("src/nagaya/")[2]).parts
        for row in (package[0] if len(package) > 1 else "(modules)", "all"):
            sums[row] = [total + file["summary"][part] for total, part in zip(sums[row], parts, strict=True)]
    print(f"\n{'package':<16}{'lines':>9}{'covered':>10}{'branches':>10}{'covered':>10}")
    for row in [*sorted(sums.keys() - {"all"}), "all"]:
        covered, lines, taken, branches = sums[row]
        shares = [
            f"{100 * part / whole:.1f} %" if whole else "" for part, whole in ((covered, lines), (taken, branches))
        ]
        print(f"{row:<16}{lines:>9,}{shares[0]:>10}{branches:>10,}{shares[1]:>10}")


def print_skipped(records: Sequence[dict[str, Any]], *, required: bool) -> bool:
    """The last line: which tests of the real tier did not run, and why. Returns whether that is acceptable."""
    missing = [record for record in records if record["reason"].startswith(NOT_INSTALLED)]
    real = [row for row in records if row["outcome"] == "skipped" and row["test"].startswith("tests/real/")]
    others = defaultdict(int)
    for record in records:
        if record["outcome"] == "skipped" and record not in missing:
            others[record["reason"]] += 1
    print()
    for reason, count in sorted(others.items()):
        print(f"skipped: {count} x {reason}")
    passed, failed, skipped = (
        sum(row["outcome"] == word for row in records) for word in ("passed", "failed", "skipped")
    )
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    failure = "FAILED: " if required else ""
    if missing:
        print(
            f"{failure}{len(missing)} tests of the real tier were skipped: the real Kubernetes "
            f"programs are not on this machine and cannot be downloaded. `make kubernetes` builds them, once, in about "
            f"{BUILD_MINUTES} minutes on two processors."
        )
    elif real:
        print(f"{failure}{len(real)} tests of the real tier were skipped, for the reasons above.")
    return not (required and (missing or real))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    checking = commands.add_parser("check", help="lint, types, import contracts and quick unit tests")
    checking.add_argument("package", nargs="?", default="", help="check only this package or path, such as core")
    testing = commands.add_parser("test", help="lint, types and every tier of tests")
    testing.add_argument("--require-real", action="store_true", help="fail if the real programs are missing")
    testing.add_argument("--records", type=Path, metavar="FOLDER", help="keep the records of all tests in this folder")
    testing.add_argument(
        "--coverage", type=Path, metavar="FOLDER", help="measure coverage, with its data in this folder"
    )
    listing = commands.add_parser("slow", help="print what belongs into tests/unit/slow.txt")
    listing.add_argument("records", type=Path, help="folder with records of a quiet run of tests/unit (--times)")
    arguments = parser.parse_args()
    if arguments.command == "slow":
        print("\n".join(slow_tests(read_records(arguments.records))))
        return
    for number in STOPPING:  # a shell that starts this in the background ignores Ctrl-C
        signal.signal(number, signal.default_int_handler)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="nagaya-tests-") as name:
        folder = Path(name)
        try:
            if arguments.command == "check":
                passed = check(arguments.package, folder)
            else:
                if arguments.coverage:
                    begin_coverage(arguments.coverage)
                passed = test(folder, arguments.coverage)
        except KeyboardInterrupt:
            sys.exit(130)
        wall = time.monotonic() - began
        if arguments.command == "test":
            records = read_records(folder)
            if arguments.records:
                shutil.copytree(folder, arguments.records, dirs_exist_ok=True)
            print_table(records, wall)
            if arguments.coverage:
                print_coverage(arguments.coverage)
            passed = print_skipped(records, required=arguments.require_real) and passed
        else:
            print(f"{'ok' if passed else 'FAILED':<6} {'all':<28} {wall:6.1f} s")
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
