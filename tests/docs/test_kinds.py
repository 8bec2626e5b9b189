"""The reference of kinds, labels, annotations and metrics says what the code says."""

from __future__ import annotations

import ast
import inspect
import re
from itertools import pairwise
from types import ModuleType

import pytest
from prometheus_client import Histogram
from prometheus_client.metrics import MetricWrapperBase

from docs.page import ROOT, section
from nagaya.api.addons import cluster_resource_set
from nagaya.api.bootstrap import annotations as boot_data
from nagaya.api.catalog import PARTS
from nagaya.api.cluster import annotations as annotations_
from nagaya.api.cluster import cluster, labels, machine, machine_deployment, machine_set, taint
from nagaya.api.controlplane import data_store, hosted_control_plane
from nagaya.api.definition import Definition
from nagaya.api.proxmox import proxmox_cluster, proxmox_connection, proxmox_machine, proxmox_virtual_machine
from nagaya.api.simulated import faults, simulated_cluster, simulated_machine
from nagaya.kube.metrics import Metrics
from nagaya.moving import annotations as moves

KINDS = (ROOT / "docs/reference/kinds.md").read_text()
LABELS = (ROOT / "docs/reference/labels.md").read_text()
KUBE = (ROOT / "docs/kube.md").read_text()
_DEFINITIONS = [each for part in PARTS.values() for each in part]
_HOLDS = (
    cluster,
    machine,
    machine_set,
    machine_deployment,
    cluster_resource_set,
    hosted_control_plane,
    data_store,
    proxmox_cluster,
    proxmox_machine,
    proxmox_connection,
    proxmox_virtual_machine,
    simulated_cluster,
    simulated_machine,
)


def _kind(definition: Definition) -> str:
    return definition.kind.kind


def test_every_part_lists_its_kinds() -> None:
    told = {
        part: re.findall(r"^### (\w+)$", section(KINDS, f"## {part}"), re.MULTILINE)
        for part in re.findall(r"^## (.+)$", KINDS, re.MULTILINE)
    }

    assert told == {part: [each.kind.kind for each in definitions] for part, definitions in PARTS.items()}


@pytest.mark.parametrize("definition", _DEFINITIONS, ids=_kind)
def test_a_kind_is_told_as_it_is_defined(definition: Definition) -> None:
    kind, text = definition.kind, section(KINDS, f"### {definition.kind.kind}")
    described = " ".join((definition.description or inspect.getdoc(kind.model) or "").split())
    short = re.search(r", short (.+?), ", text)

    assert described in text
    assert f"`{kind}`, `{kind.version}`" in text
    assert re.findall(r"`(\w+)`", short[1] if short else "") == [*definition.short_names]
    assert ("namespaced" in text) is kind.namespaced
    assert (", scales." in text) is (definition.scale is not None)


@pytest.mark.parametrize("definition", _DEFINITIONS, ids=_kind)
def test_a_kind_has_the_columns_that_kubectl_prints(definition: Definition) -> None:
    rows = re.findall(
        r"^\| (.+?)( \(\*wide\*\))? \| (.+) \|$", section(KINDS, f"### {_kind(definition)}"), re.MULTILINE
    )
    told = [(name, bool(wide), text) for name, wide, text in rows if name != "column"]

    assert told == [(each.name, each.priority > 0, each.description) for each in definition.columns]


@pytest.mark.parametrize(
    ("heading", "module"),
    [
        ("## Labels", labels),
        ("## Annotations", annotations_),
        ("## Annotations of moves", moves),
        ("## Annotations of boot data", boot_data),
    ],
)
def test_labels_and_annotations_mean_what_the_code_says(heading: str, module: ModuleType) -> None:
    rows = re.findall(r"^\| `(.+?)` \| (.+?) \| (.+) \|$", section(LABELS, heading), re.MULTILINE)

    assert sorted((name, meaning) for name, _, meaning in rows) == sorted(_documented(module))


def test_finalizers_and_taints_are_those_of_the_code() -> None:
    finalizers = re.findall(r"^\| `(.+?)` \|", section(LABELS, "## Finalizers"), re.MULTILINE)
    taints = re.findall(r"^\| `(.+?)` \|", section(LABELS, "## Taints"), re.MULTILINE)

    assert finalizers == [each.FINALIZER for each in _HOLDS]
    assert taints == [taint.NODE_UNINITIALIZED, taint.NODE_OUTDATED_REVISION]


def test_every_fault_that_can_be_ordered_is_documented() -> None:
    page = (ROOT / "docs/simulated-tenants.md").read_text()
    rows = re.findall(r"^\| (\w+) \| `(\w+)` \| (.+?) \| ", section(page, "### Faults"), re.MULTILINE)
    told = {(kind, stage, mode) for kind, stage, modes in rows for mode in re.findall(r"`(\w+)`", modes)}
    usual = (faults.FAIL, faults.HANG)
    of_machines = dict.fromkeys((faults.PROVISION, faults.BOOT, faults.JOIN, faults.DELETE), usual)
    of_clusters = dict.fromkeys((faults.PROVISION, faults.DELETE), usual)
    can_be = {
        "SimulatedMachine": {**of_machines, faults.RUN: faults.NODE_FAULTS},
        "SimulatedCluster": {**of_clusters, faults.RUN: (faults.HANG, faults.REFUSE)},
    }

    assert told == {
        (kind, stage, mode) for kind, stages in can_be.items() for stage, modes in stages.items() for mode in modes
    }


def test_every_metric_of_the_controllers_is_documented() -> None:
    collectors = [each for each in vars(Metrics()).values() if isinstance(each, MetricWrapperBase)]
    metrics = [metric for each in collectors for metric in each.describe()]
    names = {each.name + ("_total" if each.type == "counter" else "") for each in metrics}
    told = set(re.findall(r"`([a-z]+_[a-z_]+)`", " ".join(re.findall(r"^\| (`.+?) \|", _metrics(), re.MULTILINE))))

    assert any(isinstance(each, Histogram) for each in collectors)
    assert told == names


def _metrics() -> str:
    return section(KUBE, "### Limits and metrics")


def _documented(module: ModuleType) -> list[tuple[str, str]]:
    """Each constant of a module with the text below it."""
    body = ast.parse(inspect.getsource(module)).body
    found = []
    for node, after in pairwise(body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            text = after.value if isinstance(after, ast.Expr) else None
            assert isinstance(text, ast.Constant), f"{node.target.id} says nothing"
            found.append((str(getattr(module, node.target.id)), " ".join(str(text.value).split())))
    return found
