"""What is done for a simulated cluster, from what is seen."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.api.simulated.simulated_cluster import SIMULATED_CLUSTERS
from nagaya.infrastructure.simulated.cluster.plan import plan
from nagaya.infrastructure.simulated.cluster.seen import Seen
from nagaya.simulators.tenant.door import Way
from support.builders import NAMESPACE, NOW, date
from support.builders import cluster as cluster_draft

OFFER = Endpoint(host="127.0.0.1", port=20001)
ALONE = cluster_draft().having(spec={"controlPlaneRef": None}).made()


def seen(*, metadata: dict[str, Any] | None = None, provisioned: bool = False, **spec: Any) -> Seen:
    named = {"namespace": NAMESPACE, "name": "quay", "uid": "u", "creationTimestamp": date(NOW), **(metadata or {})}
    status = {"initialization": {"provisioned": True}} if provisioned else {}
    simulated = SIMULATED_CLUSTERS.convert({"metadata": named, "spec": spec, "status": status})
    return Seen(simulated, ALONE, OFFER, "", False, NOW)


def test_a_cluster_gets_an_address_and_an_authority() -> None:
    made = plan(seen())
    assert (made.endpoint, made.authority, made.provisioned, made.hold) == (OFFER, True, True, True)


def test_an_address_that_is_given_stays() -> None:
    assert plan(seen(controlPlaneEndpoint={"host": "10.0.0.1", "port": 6443})).endpoint is None


def test_a_control_plane_that_is_not_on_machines_has_an_address_of_its_own() -> None:
    reference = {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "HostedControlPlane", "name": "quay"}
    hosted = cluster_draft().having(spec={"controlPlaneRef": reference}).made()
    made = plan(replace(seen(), cluster=hosted))
    assert (made.endpoint, made.authority, made.provisioned) == (None, False, True)


def test_without_a_free_port_it_says_what_to_do() -> None:
    made = plan(replace(seen(), offer=Endpoint(host="127.0.0.1")))
    assert made.reason == "ProvisioningFailed"
    assert "spec.controlPlaneEndpoint" in made.sentence
    assert not made.provisioned


def test_an_authority_is_made_once() -> None:
    assert not plan(replace(seen(), has_authority=True)).authority
    assert not plan(seen(provisioned=True)).authority


def test_a_cluster_without_an_owner_waits() -> None:
    made = plan(replace(seen(), cluster=None))
    assert made.reason == "WaitingForOwner"
    assert not made.hold


def test_an_address_is_that_of_one_cluster() -> None:
    made = plan(replace(seen(controlPlaneEndpoint={"host": "h", "port": 1}), rival="fleet/older"))
    assert made.reason == "ProvisioningFailed"
    assert "fleet/older" in made.sentence


def test_provisioning_takes_its_time() -> None:
    made = plan(seen(provisioningSeconds=30))
    assert (made.reason, made.again_after) == ("Provisioning", 30)
    later = replace(seen(provisioningSeconds=30), now=NOW + timedelta(seconds=30))
    assert plan(later).provisioned


def test_what_is_ordered_to_go_wrong_does() -> None:
    assert plan(seen(faults=[{"stage": "Provision", "mode": "Fail"}])).reason == "ProvisioningFailed"
    assert plan(seen(faults=[{"stage": "Provision", "mode": "Hang"}])).again_after is None
    assert plan(seen(faults=[{"stage": "Run", "mode": "Hang"}])).way is Way.HANGING
    assert plan(seen(faults=[{"stage": "Run", "mode": "Refuse"}])).way is Way.REFUSING
    deleting = {"deletionTimestamp": date(NOW)}
    assert plan(seen(metadata=deleting)).release
    assert not plan(seen(metadata=deleting, faults=[{"stage": "Delete", "mode": "Hang"}])).release
