"""Whole sets: the public manifests, a correct one, and what is said about what is not there."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nagaya.cloud.lint.catalog import CHECKS, check_of
from nagaya.cloud.lint.finding import Severity
from nagaya.cloud.lint.manifest import Manifest
from nagaya.cloud.lint.manifests import Manifests
from nagaya.cloud.lint.report import lint
from unit.cloud.lint.building import Cluster, Raw, manifests_of


def test_a_correct_cluster_is_met_with_silence() -> None:
    report = lint(Cluster().manifests())

    assert report.findings == ()
    assert (report.unseen, report.ignored) == ((), 0)


def test_the_articles_example_selects_nodes_whose_taint_it_does_not_tolerate_and_has_no_valid_image() -> None:
    cluster = Cluster("article-deployment")

    assert [each for each in cluster.said() if "error" in each] == ["L4 error", "L15 error"]
    assert cluster.only("L4").subject == "node-role.kubernetes.io/control-plane:NoSchedule"
    assert cluster.only("L15").fix == "image: registry/lab-cloud-controller-manager:v1.2.3"


def test_the_articles_example_wants_more_nodes_than_a_single_control_plane_has() -> None:
    cluster = Cluster("article-deployment", "proxmox-surroundings")

    assert cluster.only("L7").severity is Severity.WARNING


def test_the_public_proxmox_deployment_alone_depends_on_what_is_around_it() -> None:
    assert Cluster("proxmox-deployment").said() == [
        "L2 warning",
        "L6 warning",
        "L9 warning",
        "L15 warning",
        "L20 warning",
    ]


def test_the_public_proxmox_deployment_with_cilium_and_kubelets_without_addresses_never_starts() -> None:
    cluster = Cluster("proxmox-deployment", "proxmox-surroundings")

    errors = {each.split()[0] for each in cluster.said() if "error" in each}

    assert errors == {"L2", "L6", "L9", "L10", "L14", "L22"}


def test_the_public_proxmox_daemonset_needs_cluster_dns_and_nothing_else() -> None:
    cluster = Cluster("proxmox-daemonset")

    assert cluster.said() == ["L9 warning", "L20 warning"]
    assert "ClusterFirstWithHostNet" in cluster.only("L9").subject


@pytest.mark.parametrize("name", ["vsphere-daemonset", "aws-daemonset", "openstack-daemonset"])
def test_the_manifests_of_large_clouds_have_no_errors(name: str) -> None:
    assert not [each for each in Cluster(name).said() if "error" in each]


def test_secrets_do_not_leave_the_configuration() -> None:
    found = Cluster("proxmox-deployment", "proxmox-surroundings").findings()

    assert "not-to-be-printed" not in json.dumps([str(each) for each in found])


def test_what_is_not_in_the_set_is_told_and_other_kinds_are_counted() -> None:
    cluster = Cluster("aws-daemonset")
    cluster.add("{apiVersion: example.com/v1, kind: Teapot, metadata: {name: some}}")

    report = lint(cluster.manifests())

    assert (report.objects, report.ignored) == (2, 1)
    assert [each.split()[1] for each in report.unseen] == ["pod", "of"]
    assert report.looked_at == ("DaemonSet kube-system/aws-cloud-controller-manager",)


def test_errors_come_first_and_then_the_order_of_the_checks() -> None:
    said = Cluster("article-deployment").said()

    assert said == ["L4 error", "L15 error", "L19 warning", "L12 info"]


def test_every_check_has_a_name_of_its_own_and_a_lesson() -> None:
    identifiers = [each.id for each in CHECKS]

    assert identifiers == ["L1", "L1b", *(f"L{number}" for number in range(2, 26))]
    assert all(len(each.lesson) > 100 and each.title for each in CHECKS)
    assert check_of("l7") is not None
    assert check_of("L26") is None


def test_an_object_that_is_there_twice_counts_as_it_was_given_last() -> None:
    first, second = Cluster(), Cluster()
    first.tolerate_less("node.cloudprovider.kubernetes.io/uninitialized")

    raws = [*first.objects, *second.objects]

    assert lint(Manifests(Manifest(each) for each in raws)).findings == ()


_JUNK = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=6,
)


def _places(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    children: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value))
    return [path, *(place for key, child in children for place in _places(child, (*path, key)))]


_SPOILABLE = manifests_of("correct")
_PLACES = [(index, *path) for index, each in enumerate(_SPOILABLE) for path in _places(each) if len(path) > 0]


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(_PLACES), _JUNK)
def test_junk_anywhere_in_a_manifest_breaks_nothing(place: tuple[str | int, ...], junk: object) -> None:
    objects: list[Raw] = deepcopy(_SPOILABLE)
    holder: Any = objects
    for step in place[:-1]:
        holder = holder[step]
    holder[place[-1]] = junk

    report = lint(Manifests(Manifest(each, "file") for each in objects))

    assert all(each.why and each.fix and each.path for each in report.findings)
