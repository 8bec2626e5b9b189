"""`nagaya describe`, `get` and `timeline` as users type them, on clusters that Nagaya's controllers run."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.controllers_process import RUNNING, Controllers
from support.manifests.simulated import Simulated
from support.running_server import NAGAYA, RunningServer
from support.upstream import upstream_binaries

pytestmark = pytest.mark.long("starts Nagaya as users do, several processes one after the other")

PATIENCE = 240.0


@dataclass(slots=True)
class Typed:
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[str]:
        """The lines, with one space between words, without branches and ages."""
        return [_row(line) for line in self.out.splitlines()]


@dataclass(slots=True)
class Desk:
    """Somebody at a shell, with a home of their own."""

    kubeconfig: Path
    home: Path

    def __call__(self, *words: str) -> Typed:
        done = subprocess.run(
            [NAGAYA, *words], env=self.variables, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        return Typed(done.returncode, done.stdout, done.stderr)

    def start(self, file: Path, *words: str) -> subprocess.Popen[bytes]:
        """A command that goes on by itself; what it prints goes into a file."""
        with file.open("wb") as stream:
            return subprocess.Popen([NAGAYA, *words], env=self.variables, stdout=stream, stderr=stream)

    def tool(self, program: Path, *words: str, given: str = "") -> str:
        """Another program."""
        done = subprocess.run(
            [program, *words],
            env=self.variables,
            input=given,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, f"{program.name} {' '.join(words)}: {done.stderr}{done.stdout}"
        return done.stdout

    def kubectl(self, *words: str, given: str = "") -> str:
        """kubectl."""
        return self.tool(NAGAYA.with_name("kubectl"), *words, given=given)

    @property
    def variables(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            # That of the controllers, which say there where the simulated cluster listens (allowed_endpoints).
            "XDG_DATA_HOME": os.environ["XDG_DATA_HOME"],
            "KUBECONFIG": str(self.kubeconfig),
            "LC_ALL": "C.UTF-8",
            "CLUSTERCTL_DISABLE_VERSIONCHECK": "true",
        }


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A plane with the cluster `demo`, which is available."""
    with RunningServer() as server, Controllers(server.kubeconfig, "--install-crds") as controllers:
        controllers.says(RUNNING)
        found = Desk(server.kubeconfig, tmp_path_factory.mktemp("home"))
        found.kubectl("apply", "-f", "-", given=yaml.safe_dump_all(Simulated("demo", workers=2).manifests()))
        waited = found("describe", "cluster", "demo", "--until-available", "--timeout", "200s")
        assert waited.code == 0, waited
        assert "Cluster default/demo: Available is True" in waited.out
        yield found


def _row(line: str) -> str:
    words = line.replace("(simulated)", "").lstrip("│├└─ ").split()
    return " ".join(word for word in words if not re.fullmatch(r"(\d+[smh]){1,2}", word))


def test_the_tree_is_that_of_clusterctl(desk: Desk) -> None:
    program = upstream_binaries().path("clusterctl")
    for options in ((), ("--no-grouping",), ("--show-conditions=all",), ("--show-machinesets", "--echo")):
        wanted = ["--grouping=false" if each == "--no-grouping" else each for each in options]
        theirs = desk.tool(program, "describe", "cluster", "demo", *wanted)
        ours = desk("describe", "cluster", "demo", *options)
        assert ours.rows == [_row(line) for line in theirs.splitlines()], options


@pytest.mark.parametrize("columns", [60, 100, 220])
def test_a_terminal_gets_colours_and_no_line_that_is_too_long(desk: Desk, columns: int) -> None:
    coloured = _on_terminal(desk, columns, "describe", "cluster", "demo")
    assert "\x1b[32mTrue" in coloured
    plain = re.sub(r"\x1b\[[0-9;]*m", "", coloured).splitlines()
    assert max(len(line.rstrip()) for line in plain) <= columns
    assert "Cluster default/demo" in plain[1]
    assert "\x1b[32m" not in _on_terminal(desk, columns, "describe", "cluster", "demo", NO_COLOR="1")
    assert "\x1b" not in _on_terminal(desk, columns, "describe", "cluster", "demo", TERM="dumb")


def _on_terminal(desk: Desk, columns: int, *words: str, **variables: str) -> str:
    """What a command prints on a terminal of so many columns."""
    ours, theirs = pty.openpty()
    environment = {**desk.variables, "TERM": "xterm", "COLUMNS": str(columns), **variables}
    with subprocess.Popen([NAGAYA, *words], env=environment, stdout=theirs, stderr=subprocess.PIPE) as process:
        os.close(theirs)
        printed = b""
        with contextlib.suppress(OSError):  # how a terminal says that nobody writes any more
            while chunk := os.read(ours, 65536):
                printed += chunk
        os.close(ours)
        assert process.wait(PATIENCE) == 0
    return printed.decode().replace("\r\n", "\n")


def test_what_is_simulated_says_so(desk: Desk) -> None:
    found = json.loads(desk("describe", "cluster", "demo", "-o", "json").out)
    assert (found["kind"], found["name"], found["simulated"]) == ("Cluster", "demo", True)
    assert found["machines"]["ready"] == 3
    assert "Cluster default/demo (simulated)" in desk("describe", "cluster", "demo").out


def test_clusters_are_listed(desk: Desk) -> None:
    header, row = desk("get", "clusters").out.splitlines()
    assert header.split() == ["NAME", "PHASE", "AVAILABLE", "VERSION", "CONTROL-PLANE", "WORKERS", "AGE"]
    assert row.split()[:-1] == ["demo", "Provisioned", "True", "v1.36.3", "1/1", "2/2"]
    assert desk("get", "clusters", "-A").out.splitlines()[1].split()[:2] == ["default", "demo"]
    (found,) = yaml.safe_load(desk("get", "clusters", "-o", "yaml").out)
    assert (found["infrastructure"], found["workers"]) == ("SimulatedCluster", {"ready": 2, "desired": 2})
    nobody = desk("get", "clusters", "-n", "kube-system")
    assert (nobody.code, nobody.out) == (0, "")
    assert "no Clusters in namespace kube-system" in nobody.err


def test_a_kubeconfig_works_printed_written_and_merged(desk: Desk) -> None:
    assert yaml.safe_load(desk("get", "kubeconfig", "demo").out)["kind"] == "Config"
    checked = desk("get", "kubeconfig", "demo", "--check")
    assert (checked.code, checked.out) == (0, ""), checked.err
    assert "It works: Kubernetes v1.36.3" in checked.err
    assert desk("get", "kubeconfig", "demo", "--merge", "--as", "tenant", "--use").code == 0
    own = desk.home / ".kube" / "config"
    assert yaml.safe_load(own.read_text())["current-context"] == "tenant"
    nodes = desk.kubectl("--kubeconfig", str(own), "get", "nodes", "-o", "name").split()
    assert len(nodes) == 3


def test_the_story_is_in_order(desk: Desk) -> None:
    told = json.loads(desk("timeline", "demo", "-o", "json").out)
    times = [each["time"] for each in told]
    assert times == sorted(times)
    said = [f"{each['kind']} {each['what']}" for each in told]
    steps = (
        "Cluster it was created",
        "Cluster its infrastructure is ready",
        "Cluster its API has answered for the first time",
        "Cluster it is available",
    )
    places = [said.index(each) for each in steps]
    assert places == sorted(places)
    assert {"life", "condition", "event"} <= {each["source"] for each in told}
    machine = next(each["name"] for each in told if each["kind"] == "Machine")
    own = desk("events", f"machine/{machine}").out
    assert f"Machine {machine}: its node {machine} is ready" in own
    assert "Cluster demo" not in own


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("describe", "cluster", "dmo"), "There is no Cluster dmo in namespace default. Did you mean demo?"),
        (("get", "kubeconfig", "demo", "-n", "other"), "It is in default: add -n default."),
        (("timeline", "machine/demo-worker"), "Did you mean demo-workers-"),
        (("timeline", "pod/x"), "pod/x is neither cluster/NAME nor machine/NAME."),
    ],
)
def test_names_that_do_not_exist_are_answered_with_those_that_do(desk: Desk, words: tuple[str, ...], said: str) -> None:
    found = desk(*words)
    assert (found.code, found.out) == (1, "")
    assert said in found.err


def test_whoever_may_read_one_namespace_sees_its_clusters(desk: Desk) -> None:
    rules = {"apiGroups": ["cluster.x-k8s.io"], "resources": ["*"], "verbs": ["get", "list", "watch"]}
    group = "rbac.authorization.k8s.io"
    reader = {"kind": "ServiceAccount", "name": "reader", "namespace": "default"}
    objects: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "reader"}},
        {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": {"name": "reader"}, "rules": [rules]},
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "reader"},
            "subjects": [reader],
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "reader"},
        },
    ]
    desk.kubectl("apply", "-f", "-", given=yaml.safe_dump_all(objects))
    config = yaml.safe_load(desk.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": desk.kubectl("create", "token", "reader").strip()}
    file = desk.home / "reader.kubeconfig"
    file.write_text(yaml.safe_dump(config))
    options = ("--kubeconfig", str(file))

    tree = desk("describe", "cluster", "demo", *options)
    assert tree.code == 0, tree
    assert "MachineDeployment default/demo-workers" in tree.out
    (note,) = tree.err.splitlines()
    assert note.startswith("Not shown: ")
    assert "simulatedmachines.infrastructure.cluster.x-k8s.io" in note.partition(" cannot be listed: ")[0]
    assert "does not exist" not in tree.out
    assert desk("describe", "cluster", "demo", "--until-available", "--timeout", "200s", *options).code == 0
    assert "Did you mean demo?" in desk("describe", "cluster", "dem", *options).err
    refused = desk("get", "kubeconfig", "demo", *options)
    assert refused.code == 1
    assert "You may not read this" in refused.err
    assert "Ask for a role that allows it" in refused.err


def test_a_cluster_that_does_not_come_up_in_time_is_a_failure_with_the_reason(desk: Desk) -> None:
    content = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "late"}}
    reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "SimulatedCluster", "name": "nowhere"}
    desk.kubectl("apply", "-f", "-", given=yaml.safe_dump({**content, "spec": {"infrastructureRef": reference}}))
    try:
        found = desk("describe", "cluster", "late", "--until-available", "--timeout", "1s")
        assert found.code == 1
        assert "Cluster late is not available after 1s" in found.err
        assert "SimulatedCluster default/nowhere" in desk("describe", "cluster", "late").out
        assert "has no kubeconfig yet" in desk("get", "kubeconfig", "late").err
    finally:
        desk.kubectl("delete", "cluster", "late", "--timeout=200s")


def test_the_change_of_a_paused_cluster_is_not_available_and_the_reason_is_the_pause(desk: Desk) -> None:
    def patch(spec: str) -> None:
        desk.kubectl("patch", "cluster", "demo", "--type=merge", "-p", f'{{"spec": {spec}}}')

    patch('{"paused": true}')
    try:
        desk.kubectl("wait", "--for=condition=Paused", "cluster/demo", "--timeout=200s")
        late = desk("describe", "cluster", "demo", "--until-available", "--timeout", "1s")
        assert late.code == 1
        assert "is not available after 1s: it is paused (Cluster spec.paused is set to true)" in late.err
    finally:
        patch('{"paused": false}')
    assert desk("describe", "cluster", "demo", "--until-available", "--timeout", "200s").code == 0


def test_who_watches_is_told_to_the_end(desk: Desk, tmp_path: Path) -> None:
    manifests = Simulated("brief", workers=1).manifests()
    desk.kubectl("apply", "-f", "-", given=yaml.safe_dump_all(manifests))
    assert desk("describe", "cluster", "brief", "--until-available", "--timeout", "200s").code == 0
    commands = (
        ("describe", "cluster", "brief", "--watch"),
        ("describe", "cluster", "brief", "--watch", "-o", "json"),
        ("timeline", "brief", "--follow"),
        ("timeline", "brief", "--follow", "-o", "json"),
    )
    files = [tmp_path / str(number) for number in range(len(commands))]
    watchers = [desk.start(file, *words) for file, words in zip(files, commands, strict=True)]
    for file in files:
        _begun(file)
    desk.kubectl("delete", "cluster", "brief", "--timeout=200s")
    assert [each.wait(PATIENCE) for each in watchers] == [0, 0, 0, 0], [each.read_text() for each in files]
    changes, drawn, told, lines = (each.read_text() for each in files)
    assert "Cluster default/brief: is being deleted" in changes
    assert changes.endswith("Cluster default/brief is gone.\n")
    trees = [json.loads(line) for line in drawn.splitlines()]
    assert "deletionTimestamp" not in trees[0]
    assert "deletionTimestamp" in trees[-1]
    assert "Cluster brief: it is being deleted" in told
    said = [f"{each['kind']} {each['what']}" for each in map(json.loads, lines.splitlines())]
    assert len([each for each in said if each.startswith("Cluster it is being deleted")]) == 1


def test_an_interruption_ends_a_watch(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "printed"
    watcher = desk.start(file, "describe", "cluster", "demo", "--watch")
    _begun(file)
    watcher.send_signal(signal.SIGINT)
    assert watcher.wait(PATIENCE) == 130
    assert "Cluster default/demo: appeared" in file.read_text()
    assert "Traceback" not in file.read_text()


def _begun(file: Path) -> None:
    """Wait until a command has printed something."""
    deadline = time.monotonic() + PATIENCE
    while not file.stat().st_size:
        assert time.monotonic() < deadline, f"{file} is still empty"
        time.sleep(0.05)


def test_why_says_that_nothing_is_wrong_and_ends_well(desk: Desk) -> None:
    found = desk("why", "cluster/demo")
    assert found.code == 0, found
    assert found.out.startswith("Nothing is wrong: Cluster default/demo is available, since ")
    assert json.loads(desk("why", "md", "demo-workers", "-o", "json").out)["well"] is True
    wrong = desk("why", "dmeo")
    assert (wrong.code, wrong.out) == (1, "")
    assert "Did you mean demo?" in wrong.err
    assert "Did you mean machine" in desk("why", "mashine/x").err


def test_plan_ends_with_what_a_pipeline_needs_to_know(desk: Desk, tmp_path: Path) -> None:
    simulated = Simulated("demo", workers=2)
    same, more, bad = tmp_path / "same.yaml", tmp_path / "more.yaml", tmp_path / "bad.yaml"
    same.write_text(yaml.safe_dump_all(simulated.manifests()))
    more.write_text(yaml.safe_dump(Simulated("demo", workers=3).workers_()))
    broken = simulated.workers_()
    broken["spec"]["replicas"] = "many"
    bad.write_text(yaml.safe_dump(broken))
    unchanged = desk("plan", "-f", str(same), "--detailed-exit-code")
    assert unchanged.code == 0, unchanged
    assert unchanged.out.endswith("Nothing would change.\n")
    assert desk("plan", "-f", str(more)).code == 0
    changed = desk("plan", "-f", str(more), "--detailed-exit-code", "-o", "yaml")
    assert changed.code == 8, changed
    (cluster,) = yaml.safe_load(changed.out)["clusters"]
    assert [each["action"] for each in cluster["steps"]] == ["create"]
    refused = desk("plan", "-f", str(bad))
    assert refused.code == 1
    assert ".spec.replicas" in refused.out
    assert desk("plan", "-f", str(bad), "--fail-on", "never").code == 0
    assert desk("plan", "-f", str(tmp_path / "none.yaml")).code == 2
    both = desk("plan", "-f", str(tmp_path))
    assert (both.code, both.out.count("MachineDeployment default/demo-workers\n")) == (1, 2)
    number = [each["kind"] for each in simulated.manifests()].index("MachineDeployment") + 1
    places = f"{bad} (object 1), {more} (object 1) and {same} (object {number})"
    assert f"MachineDeployment default/demo-workers is given 3 times: by {places}." in both.out
    plain = re.sub(r"\x1b\[[0-9;]*m", "", _on_terminal(desk, 70, "why", "demo")).splitlines()
    assert max(len(line.rstrip()) for line in plain) <= 70
