"""The version of a provider's kind comes from the labels of its CRD."""

import pytest

from nagaya.api.contract.versions import NoContract, Served, rank, served


def test_the_newest_contract_wins_over_the_newest_version() -> None:
    labels = {"cluster.x-k8s.io/v1beta1": "v1beta1_v2", "cluster.x-k8s.io/v1beta2": "v1alpha4"}
    assert served("devmachines", labels) == Served("v1beta2", "v1alpha4")


def test_of_several_versions_the_newest_is_used_whatever_their_order() -> None:
    assert served("x", {"cluster.x-k8s.io/v1beta2": "v1beta2_v1_v1beta10"}).version == "v1"
    assert served("x", {"cluster.x-k8s.io/v1beta1": "v1beta2_v1alpha3_v1beta10"}) == Served("v1beta1", "v1beta10")


@pytest.mark.parametrize("labels", [{}, {"cluster.x-k8s.io/v1beta2": ""}, {"cluster.x-k8s.io/v1alpha4": "v1alpha4"}])
def test_a_definition_without_a_known_contract_is_refused_with_the_remedy(labels: dict[str, str]) -> None:
    with pytest.raises(NoContract, match=r"devmachines\.example does not say which contract .* add the label"):
        served("devmachines.example", labels)


def test_versions_rank_as_kubernetes_ranks_them() -> None:
    order = ["v10", "v2", "v1", "v11beta2", "v3beta1", "v12alpha1", "v11alpha2", "foo10", "foo1"]
    assert sorted(order, key=rank, reverse=True) == order
