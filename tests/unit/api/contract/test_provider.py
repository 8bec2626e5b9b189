"""What providers' objects say, in both versions of the contract."""

from datetime import UTC, datetime
from typing import Any

import pytest

from nagaya.api.contract.provider import (
    BootstrapConfig,
    Broken,
    ControlPlane,
    InfrastructureCluster,
    InfrastructureMachine,
)
from nagaya.api.untyped import Untyped


def obj(**parts: Any) -> Untyped:
    return Untyped({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, **parts})


def test_nothing_is_there_before_the_provider_said_so() -> None:
    cluster = InfrastructureCluster(obj(), "v1beta2")
    assert (cluster.provisioned, cluster.control_plane_endpoint.valid, cluster.failure_domains) == (False, False, ())
    machine = InfrastructureMachine(obj(), "v1beta2")
    assert (machine.provisioned, machine.provider_id, machine.addresses, machine.interruptible) == (
        False,
        "",
        (),
        False,
    )
    plane = ControlPlane(obj(), "v1beta2")
    assert (plane.initialized, plane.replicas, plane.desired_replicas, plane.rollout_after) == (False, None, None, None)


@pytest.mark.parametrize(
    ("contract", "status"), [("v1beta1", {"ready": True}), ("v1beta2", {"initialization": {"provisioned": True}})]
)
def test_each_contract_has_its_own_word_for_provisioned(contract: str, status: dict[str, Any]) -> None:
    assert InfrastructureMachine(obj(status=status), contract).provisioned
    other = "v1beta2" if contract == "v1beta1" else "v1beta1"
    assert not InfrastructureCluster(obj(status=status), other).provisioned


def test_failure_domains_are_sorted_and_complete_in_both_contracts() -> None:
    old = obj(status={"failureDomains": {"b": {"controlPlane": True}, "a": {"attributes": {"rack": "1"}}}})
    new = obj(
        status={"failureDomains": [{"name": "b", "controlPlane": True}, {"name": "a", "attributes": {"rack": "1"}}]}
    )
    found = InfrastructureCluster(old, "v1beta1").failure_domains
    assert found == InfrastructureCluster(new, "v1beta2").failure_domains
    assert [(each.name, each.control_plane, dict(each.attributes)) for each in found] == [
        ("a", False, {"rack": "1"}),
        ("b", True, {}),
    ]


def test_a_machine_tells_where_it_was_put_in_status_or_in_the_old_place() -> None:
    assert InfrastructureMachine(obj(spec={"failureDomain": "x"}), "v1beta2").failure_domain == "x"
    both = obj(spec={"failureDomain": "x"}, status={"failureDomain": "y"})
    assert InfrastructureMachine(both, "v1beta2").failure_domain == "y"


def test_bootstrap_data_is_named_and_announced() -> None:
    config = BootstrapConfig(
        obj(status={"dataSecretName": "s", "initialization": {"dataSecretCreated": True}}), "v1beta2"
    )
    assert (config.data_secret_created, config.data_secret_name) == (True, "s")
    assert BootstrapConfig(obj(status={"ready": True}), "v1beta1").data_secret_created


def test_a_control_plane_counts_its_replicas() -> None:
    status = {"replicas": 3, "readyReplicas": 2, "availableReplicas": 1, "upToDateReplicas": 0}
    plane = ControlPlane(obj(spec={"replicas": 5}, status=status), "v1beta2")
    counts = (plane.desired_replicas, plane.replicas, plane.ready_replicas, plane.available_replicas)
    assert (*counts, plane.up_to_date_replicas) == (5, 3, 2, 1, 0)
    status = {"replicas": 3, "unavailableReplicas": 1, "updatedReplicas": 2}
    old = ControlPlane(obj(spec={"replicas": 5}, status=status), "v1beta1")
    assert (old.available_replicas, old.up_to_date_replicas) == (4, 2)


def test_versions_that_run_come_from_the_list_or_the_single_field() -> None:
    listed = {"versions": [{"version": "v1.36.3", "replicas": 2}, {"version": "v1.35.4", "replicas": 1}]}
    assert ControlPlane(obj(status=listed), "v1beta2").versions == {"v1.36.3": 2, "v1.35.4": 1}
    assert ControlPlane(obj(status={"version": "v1.36.3", "replicas": 3}), "v1beta2").versions == {"v1.36.3": 3}


def test_a_rollout_is_asked_for_where_the_contract_says() -> None:
    when = datetime(2026, 1, 2, tzinfo=UTC)
    new = obj(spec={"rollout": {"after": "2026-01-02T00:00:00Z"}})
    assert ControlPlane(new, "v1beta2").rollout_after == when
    assert ControlPlane(obj(spec={"rolloutAfter": "2026-01-02T00:00:00Z"}), "v1beta1").rollout_after == when


def test_a_field_of_the_wrong_type_names_the_object_and_the_field() -> None:
    with pytest.raises(Broken, match=r"Thing a: \.spec\.providerID: Expected `str`, got `int`"):
        _ = InfrastructureMachine(obj(spec={"providerID": 7}), "v1beta2").provider_id
