"""What is said of a tenant's own API."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from nagaya.cloud.lint import living
from nagaya.cloud.lint.finding import Finding as Deadlock
from nagaya.cloud.lint.finding import Severity
from nagaya.cloud.lint.report import Report
from nagaya.clusters.node import NODES, Node
from nagaya.insight.checkup.finding import Finding, Standing, Subject
from nagaya.insight.checkup.tenants import Seen, findings, look
from nagaya.insight.picture.member import member
from nagaya.kube.client import Client
from nagaya.kube.connection import Connection
from nagaya.kube.transport import Answer, Call, StreamAnswer
from nagaya.world import World
from unit.insight.scene import Condition, Scene

UP: Condition = ("ControlPlaneInitialized", "True", "Initialized")
QUIET = Report((), (), (), 3, 0)


def node(name: str, ready: str = "True", *taints: str) -> Node:
    content: dict[str, Any] = {
        "metadata": {"name": name},
        "spec": {"taints": [{"key": each, "effect": "NoSchedule"} for each in taints]},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }
    return NODES.convert(content)


def told(seen: Seen, *conditions: Condition, comes: bool = False) -> dict[str, Finding]:
    cluster = member(Scene().cluster(*(conditions or (UP,))))
    return {each.check: each for each in findings(Subject("Cluster default/demo"), cluster, seen, comes=comes)}


def answering(*nodes: Node, report: Report | None = QUIET, unread: tuple[str, ...] = ()) -> Seen:
    return Seen("https://tenant:6443", "v1.36.3", nodes=nodes, report=report, unread=unread)


def deadlock(severity: Severity) -> Report:
    found = Deadlock("L2", severity, "Deployment kube-system/ccm", "tenant", "spec", "taint", "It never starts.", "fix")
    return Report((found, found), ("ccm",), (), 3, 0)


def test_a_tenant_that_is_well() -> None:
    found = told(answering(node("a"), node("b")))
    assert {each.standing for each in found.values()} == {Standing.OK}
    assert found["API"].evidence == "Kubernetes v1.36.3 answers at https://tenant:6443."
    assert found["nodes"].evidence == "All 2 Nodes are ready."


def test_an_api_that_is_silent_is_a_problem_unless_it_never_was_there() -> None:
    silent = Seen("https://tenant:6443", silent="refused")
    assert told(silent)["API"].standing is Standing.PROBLEM
    assert told(silent, ("Available", "False", "x"), comes=True)["API"].standing is Standing.UNCHECKED
    assert told(silent, ("Available", "False", "x"))["API"].standing is Standing.PROBLEM


def test_a_tenant_without_a_kubeconfig_is_not_checked_while_it_has_no_control_plane() -> None:
    lost = Seen(no_way="There is no Secret default/demo-kubeconfig")
    assert told(lost, ("Available", "False", "x"))["API"].standing is Standing.UNCHECKED
    assert told(lost)["API"].standing is Standing.PROBLEM


def test_nodes_that_are_not_ready_are_counted_and_named() -> None:
    some = told(answering(node("a"), node("b", "Unknown")))["nodes"]
    assert some.standing is Standing.WARNING
    assert some.evidence == "1 of 2 Nodes are not ready: b."
    assert told(answering(node("a", "False")))["nodes"].standing is Standing.PROBLEM
    assert told(answering())["nodes"].standing is Standing.WARNING


def test_a_deadlock_is_a_problem_where_a_node_waits_and_a_warning_where_none_does_yet() -> None:
    waiting = node("a", "True", "node.cloudprovider.kubernetes.io/uninitialized")
    found = told(answering(waiting, report=deadlock(Severity.ERROR)))["bootstrap"]
    assert found.standing is Standing.PROBLEM
    assert found.evidence == "L2: Deployment kube-system/ccm: It never starts. And 1 more."
    assert found.remedy == ("nagaya lint --cluster demo -n default",)
    assert told(answering(node("a"), report=deadlock(Severity.ERROR)))["bootstrap"].standing is Standing.WARNING
    assert told(answering(waiting, report=deadlock(Severity.WARNING)))["bootstrap"].standing is Standing.WARNING


def test_what_could_not_be_read_is_told() -> None:
    assert told(answering(node("a"), unread=("Nodes: forbidden",)))["bootstrap"].standing is Standing.UNCHECKED
    late = told(answering(report=None, unread=("it did not tell all",)))
    assert late["API"].standing is Standing.OK
    assert late["nodes"].standing is Standing.UNCHECKED


class Answering:
    """An API server with one answer to everything but /version."""

    def __init__(self, version: bytes, rest: bytes) -> None:
        self._version = version
        self._rest = rest

    async def send(self, call: Call) -> Answer:
        return Answer(200, {}, self._version if call.path == "/version" else self._rest)

    def stream(self, call: Call) -> AbstractAsyncContextManager[StreamAnswer]:
        raise NotImplementedError

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"x"', b'{"gitVersion":1,"items":1}', b'{"items":[1]}', b"\xff"])
@pytest.mark.parametrize("version", [b'{"gitVersion":"v1.36.3"}', None])
async def test_a_tenant_whose_answers_make_no_sense_is_a_finding(
    body: bytes, version: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def connection(*_: object) -> Connection:
        return Connection("https://tenant:6443")

    monkeypatch.setattr(living, "tenant_connection", connection)
    world = World()
    tenant = Answering(body if version is None else version, body)
    management = Client(Answering(b"{}", b'{"metadata":{"resourceVersion":"1"},"items":[]}'), world=world)
    seen = await look(management, world, "default", "demo", lambda _: tenant)
    assert told(seen)["API"].standing is (Standing.OK if seen.version else Standing.PROBLEM)
