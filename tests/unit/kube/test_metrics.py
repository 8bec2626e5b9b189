from __future__ import annotations

from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest

from nagaya.kube.metrics import Metrics


def test_requests_are_counted_by_verb_kind_and_code() -> None:
    metrics = Metrics()
    for code in (200, 200, 409):
        metrics.request("patch", "machines.cluster.x-k8s.io", code, 0.02)
    text = generate_latest(metrics.registry).decode()
    labels = 'kind="machines.cluster.x-k8s.io",verb="patch"'
    assert f'rest_client_requests_total{{code="200",{labels}}} 2.0' in text
    assert f'rest_client_requests_total{{code="409",{labels}}} 1.0' in text
    assert 'rest_client_request_duration_seconds_count{verb="patch"} 3.0' in text


def test_names_are_those_that_dashboards_know() -> None:
    metrics = Metrics(CollectorRegistry())
    names = {each.name for each in metrics.registry.collect()}
    assert names >= {
        "workqueue_depth",
        "workqueue_adds",
        "workqueue_queue_duration_seconds",
        "controller_runtime_reconcile",
        "controller_runtime_reconcile_time_seconds",
        "rest_client_requests",
    }


def test_every_metric_is_documented() -> None:
    documented = (Path(__file__).parents[3] / "docs" / "kube.md").read_text()
    for each in Metrics().registry.collect():
        assert f"`{each.name}" in documented, f"docs/kube.md does not tell of {each.name}"


def test_several_planes_fit_into_one_process() -> None:
    one, other = Metrics(), Metrics()
    one.request("get", "nodes", 200, 0.1)
    assert b"nodes" not in generate_latest(other.registry)
