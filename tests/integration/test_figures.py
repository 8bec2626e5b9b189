"""What running processes tell Prometheus: readable, under the usual rules, and of each cluster once."""

from __future__ import annotations

import urllib.request
from pathlib import Path

import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from integration.conftest import Tool
from support.controllers_process import RUNNING, Controllers
from support.running_server import NAGAYA, RunningServer

ELECTED = ("--only=core", "--install-crds", "--leader-elect", "--health=127.0.0.1:0")


def families(text: str) -> dict[str, Metric]:
    found = list(text_string_to_metric_families(text))
    assert len({each.name for each in found}) == len(found)
    return {each.name: each for each in found}


def told(controllers: Controllers) -> dict[str, Metric]:
    where = controllers.says(r"Health and metrics are at (\S+)")[1]
    with urllib.request.urlopen(f"{where}/metrics") as answer:
        assert answer.headers["content-type"].startswith("text/plain; version=")
        return families(answer.read().decode())


def value(figures: dict[str, Metric], name: str) -> list[float]:
    return [each.value for each in figures[name].samples] if name in figures else []


def expect_the_usual_rules(figures: dict[str, Metric]) -> None:
    for name, family in figures.items():
        assert family.documentation, name
        assert family.type in ("counter", "gauge", "histogram"), name
        if family.type == "histogram":
            assert name.endswith(("_seconds", "_bytes")), name
        if name.endswith("_created"):
            assert name.startswith("capi_"), f"{name}: when a counter began is nobody's question"


@pytest.mark.long("starts a server and two controllers that elect a leader")
def test_the_one_that_leads_tells_how_clusters_stand_and_the_others_that_they_do_not(
    running_server: RunningServer, tool_home: Path
) -> None:
    kubectl = Tool(NAGAYA.with_name("kubectl"), tool_home, running_server.kubeconfig, "default")
    with Controllers(running_server.kubeconfig, *ELECTED) as first:
        first.says(RUNNING)
        kubectl("create", "-f", "-", input=CLUSTER)
        with Controllers(running_server.kubeconfig, *ELECTED) as second:
            second.says(r"has the lease default/nagaya-controllers\. Waiting for it")
            leads, waits = told(first), told(second)
            expect_the_usual_rules(leads)
            expect_the_usual_rules(waits)
            assert value(leads, "leader_election_master_status") == [1.0]
            assert value(waits, "leader_election_master_status") == [0.0]
            assert value(leads, "capi_cluster_spec_paused") == [1.0]
            assert value(waits, "capi_cluster_spec_paused") == []
            assert first.stop()[0] == 0
            second.says(RUNNING)
            leads = told(second)
            assert value(leads, "leader_election_master_status") == [1.0]
            assert value(leads, "capi_cluster_spec_paused") == [1.0]
            kubectl("delete", "cluster", "figures", "--wait=false")


def test_the_management_api_and_whoever_competes_with_nobody(running_server: RunningServer, tool_home: Path) -> None:
    kubectl = Tool(NAGAYA.with_name("kubectl"), tool_home, running_server.kubeconfig, "default")
    figures = families(kubectl("get", "--raw", "/metrics"))
    expect_the_usual_rules(figures)
    assert sum(value(figures, "apiserver_request")) > 0
    with Controllers(running_server.kubeconfig, "--only=core", "--install-crds", "--health=127.0.0.1:0") as alone:
        alone.says(RUNNING)
        assert value(told(alone), "leader_election_master_status") == [1.0]


CLUSTER = """
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: figures}
spec:
  paused: true
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: SimulatedCluster, name: figures}
"""
