from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from nagaya.core.machine.seen import Seen
from nagaya.core.machine.up_to_date import up_to_date, updating
from support.builders import EARLIER, NOW, date, machine, machine_deployment, machine_set
from support.machine_seen import node, seen

INFO = node().status.info


def told(view: Seen) -> tuple[str, str, str]:
    made = up_to_date(view, INFO)
    assert made is not None
    return made.status, made.reason, made.message


def of_deployment(draft: Any = None, **changes: Any) -> Seen:
    deployment = machine_deployment().having(spec={"template": {"spec": changes}}).made()
    return seen(draft, machine_set=machine_set().made(), deployment=deployment)


def test_a_machine_as_its_deployment_wants_it_is_up_to_date() -> None:
    assert told(of_deployment()) == ("True", "UpToDate", "")


def test_every_difference_is_told() -> None:
    view = of_deployment(
        version="v1.37.0",
        failureDomain="rack-2",
        infrastructureRef={"name": "bigger"},
        bootstrap={"configRef": {"name": "other"}},
    )
    assert told(view) == (
        "False",
        "NotUpToDate",
        "* Version v1.36.3, v1.37.0 required\n"
        "* BoatConfig is not up-to-date\n"
        "* BoatMachine is not up-to-date\n"
        "* Failure domain , rack-2 required",
    )


def test_what_can_be_changed_in_place_makes_no_difference() -> None:
    view = of_deployment(minReadySeconds=30, deletion={"nodeDrainTimeoutSeconds": 5}, taints=[])
    assert told(view)[0] == "True"


@pytest.mark.parametrize(
    ("after", "expected"),
    [(NOW - timedelta(seconds=1), "False"), (NOW + timedelta(seconds=1), "True"), (EARLIER, "True")],
)
def test_a_date_can_make_machines_outdated_that_were_made_before(after: Any, expected: str) -> None:
    deployment = machine_deployment().having(spec={"rollout": {"after": date(after)}}).made()
    status, _, message = told(seen(machine_set=machine_set().made(), deployment=deployment))
    assert status == expected
    assert (message == "* MachineDeployment spec.rolloutAfter expired") == (expected == "False")


def test_a_kubelet_of_another_version_means_that_the_machine_is_still_changing() -> None:
    view = of_deployment(machine().having(spec={"version": "v1.36.4"}))
    message = "* Node.status.nodeInfo.kubeletVersion v1.36.3, v1.36.4 required"
    assert told(view) == ("False", "Updating", message)


def test_an_update_in_place_is_told() -> None:
    busy = machine().annotated({"in-place-updates.internal.cluster.x-k8s.io/update-in-progress": ""})
    assert told(of_deployment(busy)) == ("False", "Updating", "* In-place update in progress")
    condition = updating(seen(busy))
    assert (condition.status, condition.reason) == ("True", "InPlaceUpdating")
    assert (updating(seen()).status, updating(seen()).reason) == ("False", "NotUpdating")


def test_machines_of_nobodys_deployment_are_left_to_others() -> None:
    assert up_to_date(seen(), INFO) is None
    assert up_to_date(seen(machine_set=machine_set(deployment="").made()), INFO) is None
