from __future__ import annotations

import pytest

from nagaya.api.cluster.machine import Machine
from nagaya.core.machine.infrastructure import infrastructure_progress, infrastructure_ready
from nagaya.core.machine.seen import Seen
from support.builders import Draft, machine
from support.machine_seen import host, provisioned_host, seen

PLACED = provisioned_host().having(
    status={"addresses": [{"type": "InternalIP", "address": "10.0.0.7"}], "failureDomain": "rack-1"}
)


def condition(view: Seen) -> tuple[str, str, str]:
    made = infrastructure_ready(view, infrastructure_progress(view).provisioned)
    return made.status, made.reason, made.message


def test_a_provisioned_host_gives_the_machine_its_name_its_place_and_its_addresses() -> None:
    progress = infrastructure_progress(seen(host=PLACED))
    assert (progress.provisioned, progress.provider_id, progress.failure_domain) == (True, "boat:///a", "rack-1")
    assert [each.address for each in progress.addresses] == ["10.0.0.7"]
    assert progress.sentence == "BoatMachine a has been provisioned as boat:///a."


def test_the_older_contract_says_ready() -> None:
    old = host(spec={"providerID": "boat:///a"}, status={"ready": True})
    assert infrastructure_progress(seen(host=old, contract="v1beta1")).provisioned is True
    assert infrastructure_progress(seen(host=old, contract="v1beta2")).provisioned is False


def test_an_older_provider_decides_the_failure_domain_that_the_machine_asks_for() -> None:
    chosen = provisioned_host().having(spec={"failureDomain": "rack-2"})
    progress = infrastructure_progress(seen(host=chosen))
    assert (progress.wanted_failure_domain, progress.failure_domain) == ("rack-2", "")


def test_a_host_without_a_name_is_not_provisioned_whatever_it_says() -> None:
    nameless = host(status={"initialization": {"provisioned": True}})
    progress = infrastructure_progress(seen(host=nameless))
    assert progress.provisioned is False
    assert progress.sentence == "Waiting for BoatMachine a to have spec.providerID set."


def test_the_name_of_a_host_that_is_not_provisioned_is_not_taken() -> None:
    early = host(spec={"providerID": "boat:///a"})
    assert infrastructure_progress(seen(host=early)).provider_id == ""


def test_what_was_provisioned_stays_provisioned_but_its_addresses_are_followed() -> None:
    moved = host(
        spec={"providerID": "boat:///a"}, status={"addresses": [{"type": "InternalIP", "address": "10.1.1.1"}]}
    )
    progress = infrastructure_progress(seen(machine().running(), host=moved))
    assert progress.provisioned is True
    assert [each.address for each in progress.addresses] == ["10.1.1.1"]
    assert progress.sentence == ""


def test_what_a_host_no_longer_tells_is_kept() -> None:
    known = machine().running().having(status={"failureDomain": "rack-1"})
    assert infrastructure_progress(seen(known, host=provisioned_host())).failure_domain == "rack-1"


def test_a_host_that_is_deleted_tells_nothing_new() -> None:
    progress = infrastructure_progress(seen(host=provisioned_host().deleting()))
    assert (progress.provisioned, progress.provider_id) == (False, "")


def test_a_host_that_went_away_under_a_machine_is_a_problem() -> None:
    assert "has been deleted" in infrastructure_progress(seen(machine().running(), host=None)).problem
    assert infrastructure_progress(seen(machine().running().deleting(), host=None)).problem == ""


def test_a_host_that_never_was_is_waited_for() -> None:
    progress = infrastructure_progress(seen(host=None))
    assert (progress.problem, progress.sentence) == ("", "Waiting for BoatMachine a to exist.")


def test_a_field_of_the_wrong_type_is_the_providers_mistake() -> None:
    broken = provisioned_host().having(status={"addresses": "10.0.0.7"})
    assert ".status.addresses" in infrastructure_progress(seen(host=broken)).problem


def test_the_providers_own_words_are_shown() -> None:
    said = host().reporting("Ready", "False", "Cloning", "disk 3 of 7")
    assert condition(seen(host=said)) == ("False", "Cloning", "disk 3 of 7")


def test_a_provider_without_conditions_is_judged_by_its_field() -> None:
    waits = "BoatMachine status.initialization.provisioned is false"
    assert condition(seen(host=host())) == ("False", "NotReady", waits)
    assert condition(seen(host=provisioned_host())) == ("True", "Ready", "")


def test_a_host_that_cannot_be_used_says_why() -> None:
    assert condition(seen(host="somebody else's")) == ("Unknown", "InternalError", "somebody else's")


@pytest.mark.parametrize(
    ("draft", "reason", "message"),
    [
        (machine(), "ObjectDoesNotExist", "BoatMachine does not exist"),
        (machine().deleting(), "ObjectDoesNotExist", "BoatMachine does not exist"),
        (machine().running(), "ObjectDeleted", "BoatMachine has been deleted while the Machine still exists"),
        (machine().running().deleting(), "ObjectDeleted", "BoatMachine has been deleted"),
    ],
)
def test_a_host_that_is_missing(draft: Draft[Machine], reason: str, message: str) -> None:
    assert condition(seen(draft, host=None)) == ("False", reason, message)
