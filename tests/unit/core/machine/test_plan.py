from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_set import MACHINE_SETS
from nagaya.api.contract.provider import Broken
from nagaya.core.machine.plan import certificates_expiry, plan
from support.builders import BOOTSTRAP, INFRASTRUCTURE, Draft, machine, machine_set, provider
from support.machine_seen import config, host, node, provisioned_host, ready_config, seen

EXPIRY = "machine.cluster.x-k8s.io/certificates-expiry"
OWNED = machine().owned_by(machine_set().made(), MACHINE_SETS, controller=True)


def change(view: Any) -> Any:
    found = plan(view).machine
    return None if found is None else dict(found.content)


def test_a_machine_that_waits_for_its_providers_is_left_alone() -> None:
    made = plan(seen(OWNED))
    assert (made.machine, made.adoptions, made.node, made.events, made.problems) == (None, (), None, (), ())
    assert made.waits == (
        "Waiting for BoatConfig a to have its data secret created.",
        "Waiting for BoatMachine a to be provisioned.",
    )


def test_a_bare_machine_gets_all_its_metadata_by_one_patch() -> None:
    bare = machine().having(metadata={"finalizers": ["theirs"], "labels": None})
    found = plan(seen(bare)).machine
    assert found is not None
    assert found.locked is True
    assert found.content == {
        "metadata": {
            "finalizers": ["theirs", "machine.cluster.x-k8s.io"],
            "labels": {"cluster.x-k8s.io/cluster-name": "harbour"},
            "ownerReferences": [
                {
                    "apiVersion": "cluster.x-k8s.io/v1beta2",
                    "kind": "Cluster",
                    "name": "harbour",
                    "uid": "uid-harbour",
                }
            ],
        }
    }


def test_a_change_of_metadata_says_what_each_part_of_it_is_for() -> None:
    bare = machine().having(metadata={"finalizers": ["theirs"], "labels": None})
    found = plan(seen(bare)).machine
    assert found is not None
    assert found.sentence == (
        "It gets the finalizer machine.cluster.x-k8s.io. Nobody else manages it: Cluster harbour owns it. "
        "It gets the label with the name of its cluster."
    )


@pytest.mark.parametrize(
    ("draft", "what"),
    [(OWNED.having(metadata={"finalizers": ["theirs"]}), "finalizers"), (machine(), "ownerReferences")],
    ids=["finalizers", "owners"],
)
def test_a_change_of_a_list_that_others_write_to_must_find_the_machine_as_it_was_read(
    draft: Draft[Machine], what: str
) -> None:
    found = plan(seen(draft)).machine
    assert found is not None
    assert [*found.content["metadata"]] == [what]
    assert found.locked is True


def test_a_label_is_added_whatever_others_have_written_meanwhile() -> None:
    found = plan(seen(OWNED.having(metadata={"labels": None}))).machine
    assert found is not None
    assert found.content == {"metadata": {"labels": {"cluster.x-k8s.io/cluster-name": "harbour"}}}
    assert found.locked is False


def test_a_machine_that_goes_gets_no_finalizer() -> None:
    assert change(seen(OWNED.having(metadata={"finalizers": ["theirs"]}).deleting())) is None


def test_what_both_providers_tell_reaches_the_machine_by_one_patch() -> None:
    found = plan(seen(OWNED, host=provisioned_host(), config=ready_config())).machine
    assert found is not None
    assert found.content == {"spec": {"bootstrap": {"dataSecretName": "a-data"}, "providerID": "boat:///a"}}
    assert found.locked is False
    assert found.sentence == (
        "BoatConfig a has its data in Secret a-data. BoatMachine a has been provisioned as boat:///a."
    )


def test_an_older_providers_failure_domain_becomes_the_machines() -> None:
    chosen = provisioned_host().having(spec={"failureDomain": "rack-2"})
    assert change(seen(OWNED.provisioned(), host=chosen)) == {"spec": {"failureDomain": "rack-2"}}


def test_objects_that_a_set_has_made_are_taken_over() -> None:
    made_by_set = machine_set().made()
    adoptions = plan(
        seen(
            OWNED,
            host=provider(INFRASTRUCTURE).owned_by(made_by_set, MACHINE_SETS),
            config=provider(BOOTSTRAP).having(metadata={"labels": None}),
        )
    ).adoptions
    assert [each.sentence for each in adoptions] == ["It takes over BoatConfig a.", "It takes over BoatMachine a."]
    assert [dict(each.labels) for each in adoptions] == [{"cluster.x-k8s.io/cluster-name": "harbour"}, {}]
    assert [[owner.kind for owner in each.owners] for each in adoptions] == [["Machine"], ["Machine"]]


def test_a_node_makes_the_machine_known_to_both() -> None:
    made = plan(seen(OWNED.provisioned(), host=provisioned_host(), nodes=(node(),)))
    assert made.node_ref is not None
    assert made.node_ref.name == "node-a"
    assert made.node_info is not None
    assert made.node_info.kubelet_version == "v1.36.3"
    assert [(each.reason, each.note) for each in made.events] == [("SuccessfulSetNodeRef", "node-a")]
    assert made.node is not None
    assert made.node.locked is False
    assert made.node.sentence == "Node node-a gets the annotations of its Machine."


def test_a_node_that_is_known_is_no_news_and_keeps_its_name() -> None:
    made = plan(seen(OWNED.running(), host=provisioned_host(), nodes=(node("renamed"),)))
    assert made.events == ()
    assert made.node_ref is not None
    assert made.node_ref.name == "node-a"


def test_what_the_node_said_last_is_kept_while_it_cannot_be_asked() -> None:
    info = dict.fromkeys(
        (
            "machineID",
            "systemUUID",
            "bootID",
            "kernelVersion",
            "osImage",
            "containerRuntimeVersion",
            "kubeletVersion",
            "kubeProxyVersion",
            "operatingSystem",
            "architecture",
        ),
        "x",
    )
    known = OWNED.running().having(status={"nodeInfo": info})
    made = plan(seen(known, nodes=None))
    assert made.node_info is not None
    assert made.node_info.kubelet_version == "x"
    assert made.node is None


def test_a_host_that_may_be_taken_away_is_told_once() -> None:
    shaky = provisioned_host().having(status={"interruptible": True})
    first = plan(seen(OWNED.running(), host=shaky, nodes=(node(),)))
    assert [each.reason for each in first.events] == ["SuccessfulSetInterruptibleNodeLabel"]
    labelled = node(labels={"cluster.x-k8s.io/interruptible": ""})
    assert plan(seen(OWNED.running(), host=shaky, nodes=(labelled,))).events == ()


def test_two_nodes_of_one_name_are_a_problem_that_is_told() -> None:
    made = plan(seen(OWNED.running(), host=provisioned_host(), nodes=(node("one"), node("two"))))
    assert [each.reason for each in made.events] == ["Failed to retrieve Node by ProviderID"]
    assert "one, two" in made.problems[0]
    assert made.node is None


def test_a_change_of_taints_must_find_the_node_as_it_was_read() -> None:
    tainted = OWNED.running().having(spec={"taints": [{"key": "x/y", "effect": "NoSchedule", "propagation": "Always"}]})
    made = plan(seen(tainted, host=provisioned_host(), nodes=(node(),)))
    assert made.node is not None
    assert made.node.locked is True


def test_providers_mistakes_are_told_and_do_not_stop_the_rest() -> None:
    broken = host(spec={"providerID": 7}, status={"initialization": {"provisioned": True}})
    made = plan(seen(OWNED, host=broken, config=ready_config()))
    assert ".spec.providerID" in made.problems[0]
    assert made.machine is not None
    assert made.machine.content == {"spec": {"bootstrap": {"dataSecretName": "a-data"}}}


@pytest.mark.parametrize(
    ("own", "theirs", "expected"),
    [
        ("2030-01-31T00:00:00Z", None, datetime(2030, 1, 31, tzinfo=UTC)),
        ("2030-01-31T02:00:00+02:00", None, datetime(2030, 1, 31, tzinfo=UTC)),
        ("2030-01-31T00:00:00Z", "2031-01-31T00:00:00Z", datetime(2030, 1, 31, tzinfo=UTC)),
        (None, "2031-01-31T00:00:00Z", datetime(2031, 1, 31, tzinfo=UTC)),
        (None, None, None),
    ],
)
def test_the_machine_or_its_config_says_when_certificates_run_out(
    own: str | None, theirs: str | None, expected: datetime | None
) -> None:
    member = machine().control_plane().annotated({EXPIRY: own})
    assert certificates_expiry(seen(member, config=config().annotated({EXPIRY: theirs}))) == expected


def test_certificates_of_workers_are_not_looked_at() -> None:
    assert certificates_expiry(seen(machine().annotated({EXPIRY: "2030-01-31T00:00:00Z"}))) is None


@pytest.mark.parametrize("text", ["soon", "2030-01-31", "2030-01-31T00:00:00"])
def test_a_date_that_is_none_is_told(text: str) -> None:
    view = seen(machine().control_plane().annotated({EXPIRY: text}))
    with pytest.raises(Broken, match="is not a date like"):
        certificates_expiry(view)
    assert EXPIRY in plan(view).problems[0]
