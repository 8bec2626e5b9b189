from __future__ import annotations

import pytest

from nagaya.api.cluster.machine import Machine
from nagaya.core.machine.bootstrap import bootstrap_config_ready, bootstrap_progress
from nagaya.core.machine.seen import Seen
from support.builders import Draft, machine
from support.machine_seen import config, ready_config, seen


def told(status: str, reason: str, message: str = "") -> tuple[str, str, str]:
    return status, reason, message


def condition(view: Seen) -> tuple[str, str, str]:
    made = bootstrap_config_ready(view, bootstrap_progress(view).created)
    return made.status, made.reason, made.message


def test_the_secret_of_a_config_that_is_done_becomes_the_machines() -> None:
    progress = bootstrap_progress(seen(config=ready_config()))
    assert (progress.data_secret_name, progress.created) == ("a-data", True)


def test_the_older_contract_says_ready() -> None:
    old = config(status={"ready": True, "dataSecretName": "old"})
    progress = bootstrap_progress(seen(config=old, contract="v1beta1"))
    assert (progress.data_secret_name, progress.created) == ("old", True)
    assert bootstrap_progress(seen(config=old, contract="v1beta2")).created is False


def test_a_config_that_is_not_done_is_waited_for() -> None:
    progress = bootstrap_progress(seen(config=config()))
    assert progress.data_secret_name is None
    assert progress.sentence == "Waiting for BoatConfig a to have its data secret created."


def test_created_without_a_name_is_the_providers_mistake() -> None:
    broken = config(status={"initialization": {"dataSecretCreated": True}})
    progress = bootstrap_progress(seen(config=broken))
    assert "dataSecretName is empty" in progress.problem
    assert progress.created is False


def test_a_field_of_the_wrong_type_is_the_providers_mistake() -> None:
    broken = config(status={"initialization": {"dataSecretCreated": "yes"}})
    assert ".status.initialization.dataSecretCreated" in bootstrap_progress(seen(config=broken)).problem


def test_a_config_that_is_deleted_tells_nothing_new() -> None:
    progress = bootstrap_progress(seen(config=ready_config().deleting()))
    assert (progress.data_secret_name, progress.created) == (None, False)


def test_a_machine_that_has_its_secret_keeps_it() -> None:
    named = machine().having(spec={"bootstrap": {"dataSecretName": "mine"}})
    assert bootstrap_progress(seen(named, config=ready_config())).data_secret_name == "mine"


def test_what_was_created_stays_created() -> None:
    assert bootstrap_progress(seen(machine().running(), config=None)).created is True


def test_a_machine_without_a_config_has_its_data_from_the_user() -> None:
    own = machine().having(spec={"bootstrap": {"configRef": None, "dataSecretName": "mine"}})
    assert condition(seen(own)) == told("True", "DataSecretProvided")
    assert bootstrap_progress(seen(own)).created is False


def test_the_providers_own_words_are_shown() -> None:
    said = config().reporting("Ready", "False", "WaitingForInfrastructure", "no endpoint yet")
    assert condition(seen(config=said)) == told("False", "WaitingForInfrastructure", "no endpoint yet")


def test_good_news_without_a_reason_gets_one() -> None:
    said = ready_config().having(status={"conditions": [{"type": "Ready", "status": "True"}]})
    assert condition(seen(config=said)) == told("True", "Ready")


def test_bad_news_without_a_reason_says_that_there_is_none() -> None:
    said = config().having(status={"conditions": [{"type": "Ready", "status": "False", "message": "hm"}]})
    assert condition(seen(config=said)) == told("False", "NoReasonReported", "hm")


def test_a_condition_that_cannot_be_read_is_shown_as_such() -> None:
    said = config().having(status={"conditions": [{"type": "Ready"}]})
    status, reason, message = condition(seen(config=said))
    assert (status, reason) == ("Unknown", "InvalidConditionReported")
    assert "status must be set" in message


def test_a_provider_without_conditions_is_judged_by_its_field() -> None:
    waits = "BoatConfig status.initialization.dataSecretCreated is false"
    assert condition(seen(config=config())) == told("False", "NotReady", waits)
    assert condition(seen(config=ready_config())) == told("True", "Ready")


def test_a_config_that_cannot_be_used_says_why() -> None:
    assert condition(seen(config="nobody serves it")) == told("Unknown", "InternalError", "nobody serves it")


@pytest.mark.parametrize(
    ("draft", "expected"),
    [
        (machine(), told("False", "ObjectDoesNotExist", "BoatConfig does not exist")),
        (machine().running(), told("False", "ObjectDoesNotExist", "BoatConfig does not exist")),
        (machine().deleting(), told("False", "ObjectDoesNotExist", "BoatConfig does not exist")),
        (machine().running().deleting(), told("False", "ObjectDeleted", "BoatConfig has been deleted")),
    ],
)
def test_a_config_that_is_missing(draft: Draft[Machine], expected: tuple[str, str, str]) -> None:
    assert condition(seen(draft, config=None)) == expected
