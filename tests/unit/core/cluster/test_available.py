from __future__ import annotations

from nagaya.api.cluster.cluster import Cluster
from nagaya.core.cluster.available import available
from support.builders import Draft
from support.seen_cluster import grown_cluster, new_cluster

TOPOLOGY = {"topology": {"classRef": {"name": "small"}, "version": "v1.36.3"}}


def well() -> Draft[Cluster]:
    draft = grown_cluster().reporting("Deleting", "False", "NotDeleting")
    for type in ("RemoteConnectionProbe", "InfrastructureReady", "ControlPlaneAvailable", "WorkersAvailable"):
        draft = draft.reporting(type, "True")
    return draft


def told(draft: Draft[Cluster]) -> tuple[str, str, str]:
    made = draft.made()
    condition = available(made, made.status.conditions)
    return condition.status, condition.reason, condition.message


def test_a_cluster_is_available_when_all_that_counts_is_good() -> None:
    assert told(well()) == ("True", "Available", "")


def test_what_is_not_told_is_unknown() -> None:
    status, reason, message = told(new_cluster())
    assert (status, reason) == ("Unknown", "AvailableUnknown")
    assert message.splitlines()[0] == "* Deleting: Condition not yet reported"
    assert "TopologyReconciled" not in message


def test_all_that_is_wrong_is_told_in_order_of_relevance() -> None:
    draft = well().reporting("WorkersAvailable", "False", message="* MachineDeployment a: 3 missing\n* And more")
    draft = draft.reporting("Deleting", "True", message="* MachineDeployments: a")
    assert told(draft) == (
        "False",
        "NotAvailable",
        "* Deleting:\n  * MachineDeployments: a\n* WorkersAvailable:\n  * MachineDeployment a: 3 missing\n  * And more",
    )


def test_while_a_cluster_goes_what_is_gone_is_no_issue() -> None:
    draft = well().reporting("InfrastructureReady", "False", "ObjectDeleted", "gone")
    draft = draft.reporting("ControlPlaneAvailable", "False", "ObjectDoesNotExist", "never was")
    assert told(draft)[2] == "* InfrastructureReady: gone\n* ControlPlaneAvailable: never was"
    going = draft.deleting().reporting("Deleting", "True", message="Deletion completed")
    assert told(going) == ("False", "NotAvailable", "* Deleting: Deletion completed")


def test_gates_count_with_the_polarity_they_have() -> None:
    gates = [{"conditionType": "Backup"}, {"conditionType": "Fire", "polarity": "Negative"}]
    draft = well().having(spec={"availabilityGates": gates})
    assert told(draft.reporting("Backup", "True").reporting("Fire", "False")) == ("True", "Available", "")
    assert told(draft.reporting("Backup", "False", message="none").reporting("Fire", "True", message="hot")) == (
        "False",
        "NotAvailable",
        "* Backup: none\n* Fire: hot",
    )
    assert told(draft.reporting("Fire", "False")) == (
        "Unknown",
        "AvailableUnknown",
        "* Backup: Condition not yet reported",
    )


def test_a_topology_counts_where_there_is_one() -> None:
    draft = well().having(spec=TOPOLOGY)
    assert told(draft)[0] == "Unknown"
    waits = draft.reporting("TopologyReconciled", "False", "ControlPlaneUpgradePending", "waits its turn")
    assert told(waits) == ("True", "Available", "* TopologyReconciled: waits its turn")
    failed = draft.reporting("TopologyReconciled", "False", "ReconcileFailed", "no such class")
    assert told(failed) == ("False", "NotAvailable", "* TopologyReconciled: no such class")
