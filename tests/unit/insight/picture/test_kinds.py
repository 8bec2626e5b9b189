"""Which kinds may have objects of a Cluster."""

from __future__ import annotations

from typing import Any

from nagaya.api.catalog import PARTS
from nagaya.api.crd import render
from nagaya.insight.picture.kinds import DEFINITIONS, Kinds


def definition(group: str, kind: str, versions: list[dict[str, Any]], **labels: str) -> Any:
    plural = f"{kind.lower()}s"
    return DEFINITIONS.convert(
        {
            "metadata": {"name": f"{plural}.{group}", "labels": labels},
            "spec": {"group": group, "names": {"kind": kind, "plural": plural}, "versions": versions},
        }
    )


STORED = [{"name": "v1", "served": True, "storage": True}, {"name": "v2alpha1", "served": True}]


def test_the_version_is_the_one_that_fulfils_the_contract() -> None:
    labels = {"cluster.x-k8s.io/v1beta2": "v2alpha1"}
    found = Kinds([definition("example.com", "BoatMachine", STORED, **labels)]).get("example.com", "BoatMachine")
    assert found is not None
    assert (found.kind.version, found.contract) == ("v2alpha1", "v1beta2")


def test_without_a_contract_it_is_the_stored_one() -> None:
    group = "infrastructure.cluster.x-k8s.io"
    found = Kinds([definition(group, "BoatConnection", STORED)]).get(group, "BoatConnection")
    assert found is not None
    assert found.kind.version == "v1"


def test_kinds_of_others_do_not_count() -> None:
    assert list(Kinds([definition("example.com", "Boat", STORED)])) == []


def test_of_our_own_kinds_templates_and_pools_are_no_single_clusters() -> None:
    own = [DEFINITIONS.convert(render(each)) for part in PARTS.values() for each in part]
    kinds = Kinds(own)
    assert kinds.clusters is not None
    owned = {each.kind.kind for each in kinds.owned()}
    assert {"Machine", "KubeadmConfig", "HostedControlPlane", "ProxmoxMachine", "ProxmoxVirtualMachine"} <= owned
    assert not owned & {"SimulatedMachineTemplate", "InClusterIPPool", "ClusterClass", "ProxmoxConnection"}
    assert kinds.get("infrastructure.cluster.x-k8s.io", "ProxmoxConnection") is not None


def test_a_word_means_a_kind_as_with_kubectl() -> None:
    kinds = Kinds([DEFINITIONS.convert(render(each)) for part in PARTS.values() for each in part])
    for word in ("machine", "Machine", "machines", "ma", "machines.cluster.x-k8s.io", "ma.v1beta2.cluster.x-k8s.io"):
        assert [each.kind.kind for each in kinds.called(word)] == ["Machine"], word
    assert [each.kind.kind for each in kinds.called("proxmoxconnections")] == ["ProxmoxConnection"]
    assert kinds.called("pod") == ()
    assert kinds.called("machines.example.com") == ()
