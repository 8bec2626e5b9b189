from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.api.cluster.annotations import (
    EXCLUDE_NODE_DRAINING,
    EXCLUDE_WAIT_FOR_NODE_VOLUME_DETACH,
    PRE_DRAIN_DELETE_HOOK_PREFIX,
    PRE_TERMINATE_DELETE_HOOK_PREFIX,
)
from nagaya.api.cluster.machine_status import MachineDeletionStatus
from nagaya.core.machine.deletion.plan import Action, Progress, Step, plan
from nagaya.core.machine.seen import Seen
from support.builders import NOW, MachineDraft, cluster, date, machine
from support.deletion_seen import CONTROL_PLANE_MACHINE, WORKER, going
from support.machine_seen import config, host
from support.subtest_cases import subtest_cases

NOTHING = MachineDeletionStatus()
PRE_DRAIN = f"{PRE_DRAIN_DELETE_HOOK_PREFIX}/backup"
PRE_TERMINATE = f"{PRE_TERMINATE_DELETE_HOOK_PREFIX}/leave"


def first(view: Seen, *done: Action) -> Step:
    return plan(view, Progress(view.machine.status.deletion, frozenset(done)))


def all_steps(view: Seen) -> list[Action]:
    """The steps of a deletion in which nothing has to wait."""
    progress = Progress(view.machine.status.deletion)
    steps: list[Action] = []
    while True:
        step = plan(view, progress)
        steps.append(step.action)
        if step.action in (Action.WAIT, Action.LET_GO):
            return steps
        progress = progress.after(step)


def test_a_running_machine_goes_in_this_order() -> None:
    assert all_steps(going()) == [
        Action.DRAIN,
        Action.DETACH,
        Action.DELETE_INFRASTRUCTURE,
        Action.DELETE_BOOTSTRAP,
        Action.DELETE_NODE,
        Action.LET_GO,
    ]


def test_a_machine_of_a_cluster_that_goes_leaves_its_node_alone() -> None:
    assert all_steps(going(cluster=cluster().deleting())) == [
        Action.DELETE_INFRASTRUCTURE,
        Action.DELETE_BOOTSTRAP,
        Action.LET_GO,
    ]


def test_a_machine_with_boot_data_of_the_user_has_no_bootstrap_object_to_delete() -> None:
    own = WORKER.having(spec={"bootstrap": {"configRef": None}})
    assert Action.DELETE_BOOTSTRAP not in all_steps(going(own))


@pytest.mark.parametrize(
    ("view", "done", "reason", "message"),
    [
        (going(), (), "DrainingNode", "Drain not completed yet (started at 2026-11-01T12:00:00Z):"),
        (
            going(),
            (Action.DRAIN,),
            "WaitingForVolumeDetach",
            "Waiting for Node volumes to be detached (started at 2026-11-01T12:00:00Z)",
        ),
        (
            going(),
            (Action.DRAIN, Action.DETACH),
            "WaitingForInfrastructureDeletion",
            "Waiting for BoatMachine to be deleted",
        ),
        (
            going(),
            (Action.DRAIN, Action.DETACH, Action.DELETE_INFRASTRUCTURE),
            "WaitingForBootstrapDeletion",
            "Waiting for BoatConfig to be deleted",
        ),
        (
            going(),
            (Action.DRAIN, Action.DETACH, Action.DELETE_INFRASTRUCTURE, Action.DELETE_BOOTSTRAP),
            "DeletingNode",
            "Error deleting Node, please check controller logs for errors",
        ),
        (going(), tuple(Action), "DeletionCompleted", "Deletion completed"),
        (going(control_plane="Broken."), (), "InternalError", "Please check controller logs for errors"),
    ],
)
def test_each_step_says_what_it_waits_for(view: Seen, done: tuple[Action, ...], reason: str, message: str) -> None:
    step = first(view, *done)
    assert (step.reason, step.message) == (reason, message)


def test_pre_drain_hooks_come_before_everything() -> None:
    step = first(going(WORKER.annotated({f"{PRE_DRAIN}-2": "", f"{PRE_DRAIN}-1": "me", "other": ""})))
    assert (step.action, step.reason) == (Action.WAIT, "WaitingForPreDrainHook")
    assert step.message == f"Waiting for pre-drain hooks to succeed (hooks: {PRE_DRAIN}-1,{PRE_DRAIN}-2)"
    assert step.started == MachineDeletionStatus(wait_for_pre_drain_hook_start_time=NOW)


def test_hooks_before_a_drain_that_will_not_be_are_not_waited_for() -> None:
    view = going(WORKER.annotated({PRE_DRAIN: ""}), cluster=cluster().deleting())
    assert first(view).action is Action.DELETE_INFRASTRUCTURE


def test_pre_terminate_hooks_come_before_the_host_goes_also_without_a_node() -> None:
    for view, done in (
        (going(WORKER.annotated({PRE_TERMINATE: ""})), (Action.DRAIN, Action.DETACH)),
        (going(WORKER.annotated({PRE_TERMINATE: ""}), cluster=cluster().deleting()), ()),
    ):
        step = first(view, *done)
        assert (step.action, step.reason) == (Action.WAIT, "WaitingForPreTerminateHook")
        assert step.message == f"Waiting for pre-terminate hooks to succeed (hooks: {PRE_TERMINATE})"
        assert step.started.wait_for_pre_terminate_hook_start_time == NOW


def test_start_times_are_kept_once_they_are_set() -> None:
    since = NOW - timedelta(minutes=3)
    step = first(going(WORKER.having(status={"deletion": {"nodeDrainStartTime": date(since)}})))
    assert step.started == MachineDeletionStatus(node_drain_start_time=since)
    assert "2026-11-01T11:57:00Z" in step.message


def limited(seconds: int, since: timedelta, *, drain: bool) -> MachineDraft:
    limit, begun = (
        ("nodeDrainTimeoutSeconds", "nodeDrainStartTime")
        if drain
        else ("nodeVolumeDetachTimeoutSeconds", "waitForNodeVolumeDetachStartTime")
    )
    return WORKER.having(spec={"deletion": {limit: seconds}}, status={"deletion": {begun: date(NOW - since)}})


@subtest_cases(
    ("worker", "parts", "expected"),
    [
        (WORKER.annotated({EXCLUDE_NODE_DRAINING: ""}), {}, Action.DETACH),
        (limited(60, timedelta(seconds=59), drain=True), {}, Action.DRAIN),
        (limited(60, timedelta(seconds=60), drain=True), {}, Action.DETACH),
        (limited(0, timedelta(days=9), drain=True), {}, Action.DRAIN),
        (WORKER.having(spec={"deletion": {"nodeDrainTimeoutSeconds": 1}}), {}, Action.DRAIN),
        (WORKER, {"host": None}, Action.DELETE_INFRASTRUCTURE),
        (WORKER, {"host": host().deleting()}, Action.DELETE_INFRASTRUCTURE),
        (
            WORKER.having(status={"deletion": {"waitForPreTerminateHookStartTime": date(NOW)}}),
            {},
            Action.DELETE_INFRASTRUCTURE,
        ),
    ],
)
def test_a_drain_is_skipped_when_it_is_not_wanted_or_makes_no_sense(
    worker: MachineDraft, parts: dict[str, Any], expected: Action
) -> None:
    assert first(going(worker, **parts)).action is expected


@pytest.mark.parametrize(
    ("worker", "expected"),
    [
        (WORKER, Action.DETACH),
        (WORKER.annotated({EXCLUDE_WAIT_FOR_NODE_VOLUME_DETACH: ""}), Action.DELETE_INFRASTRUCTURE),
        (limited(60, timedelta(seconds=59), drain=False), Action.DETACH),
        (limited(60, timedelta(seconds=60), drain=False), Action.DELETE_INFRASTRUCTURE),
    ],
)
def test_volumes_are_waited_for_by_the_same_rules(worker: MachineDraft, expected: Action) -> None:
    assert first(going(worker), Action.DRAIN).action is expected


def test_nothing_is_forgotten_that_may_still_exist() -> None:
    step = first(going(host="It is another's."))
    assert (step.action, step.reason) == (Action.WAIT, "WaitingForInfrastructureDeletion")
    assert step.message == "Waiting for BoatMachine to be deleted: It is another's."
    step = first(going(config="It is another's.", cluster=cluster().deleting()), Action.DELETE_INFRASTRUCTURE)
    assert (step.action, step.reason) == (Action.WAIT, "WaitingForBootstrapDeletion")
    assert step.message == "Waiting for BoatConfig to be deleted: It is another's."


def test_a_host_that_cannot_be_looked_at_starts_no_hook_that_would_rule_out_the_drain() -> None:
    step = first(going(WORKER.annotated({PRE_TERMINATE: ""}), host="Being listed."))
    assert step.reason == "WaitingForInfrastructureDeletion"
    assert step.started == NOTHING


MACHINES = st.sampled_from([machine("a").deleting(), machine("a").provisioned().deleting(), WORKER])
HOOKS = st.sets(st.sampled_from([PRE_DRAIN, PRE_TERMINATE, EXCLUDE_NODE_DRAINING]))
HOSTS = st.sampled_from([host(), host().deleting(), None, "Unknown."])
CONFIGS = st.sampled_from([config(), config().deleting(), None, "Unknown."])


@given(MACHINES, HOOKS, HOSTS, CONFIGS, st.booleans(), st.booleans())
def test_a_machine_is_let_go_only_when_everybody_who_is_waited_for_is_done(
    worker: MachineDraft, hooks: set[str], hosted: Any, configured: Any, going_cluster: bool, alone: bool
) -> None:
    view = going(
        worker.annotated(dict.fromkeys(hooks, "")),
        host=hosted,
        config=configured,
        cluster=cluster().deleting() if going_cluster else cluster(),
        others=() if alone else (CONTROL_PLANE_MACHINE,),
    )
    steps = all_steps(view)
    assert steps == sorted(steps, key=[*list(Action)[1:-1], Action.WAIT, Action.LET_GO].index)
    if steps[-1] is Action.LET_GO:
        assert Action.DELETE_INFRASTRUCTURE in steps
        assert Action.DELETE_BOOTSTRAP in steps
        assert PRE_TERMINATE not in hooks
        assert "Unknown." not in (hosted, configured)
        assert PRE_DRAIN not in hooks or Action.DELETE_NODE not in steps
