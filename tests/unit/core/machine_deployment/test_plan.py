"""What is decided for a deployment."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.api.cluster.annotations import REVISION
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS
from nagaya.api.cluster.machine_set import MACHINE_SETS, MachineSet
from nagaya.clusters.external import Referenced
from nagaya.core.machine_deployment.plan import Plan, plan
from nagaya.core.machine_deployment.seen import Seen, selector_of
from nagaya.core.machine_deployment.templates import Templates
from support.builders import NOW, Draft, cluster, machine_deployment, machine_set

LABELS = {"role": "deckhand"}


def deployment(replicas: int | None = 3, **spec: Any) -> Draft[Any]:
    draft = machine_deployment().having(
        spec={"selector": {"matchLabels": LABELS}, "template": {"metadata": {"labels": LABELS}}, **spec},
        status={"observedGeneration": 1},
    )
    return draft if replicas is None else draft.having(spec={"replicas": replicas})


def a_set(name: str, size: int, machines: int | None = None, *, version: str = "v1.36.3", **status: Any) -> MachineSet:
    there = size if machines is None else machines
    numbers = {"replicas": there, "availableReplicas": there, "upToDateReplicas": there, "observedGeneration": 1}
    return (
        machine_set(name)
        .labelled({"machine-template-hash": f"1-{name}", **LABELS})
        .owned_by(machine_deployment().made(), MACHINE_DEPLOYMENTS, controller=True)
        .having(spec={"replicas": size, "template": {"spec": {"version": version}}}, status={**numbers, **status})
        .made()
    )


def again(made: MachineSet) -> Draft[MachineSet]:
    return Draft(MACHINE_SETS, MACHINE_SETS.content(made))


def old(name: str, size: int, machines: int | None = None, **status: Any) -> MachineSet:
    return a_set(name, size, machines, version="v1.35.0", **{"upToDateReplicas": 0, **status})


def seen(draft: Draft[Any], *sets: MachineSet, **more: Any) -> Seen:
    made = draft.made()
    selector, problem = selector_of(made)
    return Seen(
        deployment=made, cluster=cluster().made(), now=NOW, sets=sets, selector=selector, problem=problem, **more
    )


def sizes(decided: Plan) -> dict[str, int]:
    return {each.wanted.metadata.name: each.size for each in decided.sets}


def missing(draft: Draft[Any]) -> Templates:
    spec = draft.made().spec.template.spec
    assert spec.bootstrap.config_ref is not None
    return Templates((Referenced(spec.bootstrap.config_ref), Referenced(spec.infrastructure_ref)))


def test_a_new_deployment_makes_its_first_set_in_full_size() -> None:
    decided = plan(seen(deployment()))
    (first,) = decided.sets
    assert first.present is None
    assert first.size == 3
    assert decided.revision == "1"
    assert decided.says == "no MachineSets exist for the MachineDeployment"


def test_a_change_of_the_template_makes_another_set_and_grows_it_first() -> None:
    decided = plan(seen(deployment(), old("a", 3)))
    new, before = decided.sets
    assert (new.present, new.size, new.current) == (None, 1, True)
    assert (before.size, before.current) == (3, False)
    assert decided.revision == "2"
    assert "spec.version v1.35.0, v1.36.3 required" in decided.says


def test_without_templates_nothing_is_made() -> None:
    decided = plan(seen(deployment(), templates=missing(deployment())))
    assert decided == Plan("cannot create a MachineSet when templates do not exist", stuck=True)


def test_without_templates_an_existing_set_goes_on() -> None:
    decided = plan(seen(deployment(5), a_set("a", 3), templates=missing(deployment())))
    assert sizes(decided) == {"a": 5}
    assert not decided.stuck


def test_a_template_that_cannot_be_judged_stops_everything() -> None:
    reference = deployment().made().spec.template.spec.infrastructure_ref
    unclear = Templates((Referenced(reference, problem="No label says which contract."),))
    assert plan(seen(deployment(), templates=unclear)) == Plan("No label says which contract.", stuck=True)


def test_changing_back_makes_the_former_set_current_again() -> None:
    back = old("a", 1)
    other = a_set("b", 2)
    decided = plan(seen(deployment(template={"spec": {"version": "v1.35.0"}}), back, other))
    current = decided.sets[0]
    assert current.wanted.metadata.name == "a"
    assert current.wanted.metadata.annotations[REVISION] == "2"
    assert current.wanted.metadata.annotations["machinedeployment.clusters.x-k8s.io/revision-history"] == "1"
    assert current.why.startswith("this is now the current MachineSet, ")


def test_on_delete_keeps_old_sets_from_making_machines() -> None:
    decided = plan(seen(deployment(rollout={"strategy": {"type": "OnDelete"}}), old("a", 3)))
    marks = [each.wanted.metadata.annotations["cluster.x-k8s.io/disable-machine-create"] for each in decided.sets]
    assert marks == ["false", "true"]


def test_empty_old_sets_go_when_all_is_done() -> None:
    empty = old("a", 0)
    decided = plan(seen(deployment(), empty, a_set("b", 3)))
    assert decided.delete == (empty,)
    assert sizes(decided) == {"b": 3}


@pytest.mark.parametrize(
    "sets",
    [
        (old("a", 0), a_set("b", 3, availableReplicas=2)),
        (old("a", 0), a_set("b", 3, upToDateReplicas=2)),
        (old("a", 0, 1), a_set("b", 3)),
        (old("a", 0, observedGeneration=0), a_set("b", 3)),
    ],
)
def test_old_sets_stay_until_all_is_done(sets: tuple[MachineSet, ...]) -> None:
    assert plan(seen(deployment(), *sets)).delete == ()


def test_old_sets_stay_until_the_last_change_was_seen() -> None:
    changed = deployment().having(metadata={"generation": 2})
    assert plan(seen(changed, old("a", 0), a_set("b", 3))).delete == ()


def test_a_paused_rollout_makes_no_set_and_cleans_nothing_up() -> None:
    decided = plan(seen(deployment(5, paused=True), old("a", 3)))
    assert sizes(decided) == {"a": 5}
    assert decided.revision == ""
    assert plan(seen(deployment(paused=True), old("a", 0), a_set("b", 3))).delete == ()


def test_a_paused_rollout_is_scaled_in_proportion() -> None:
    noted = {"metadata": {"annotations": {"machinedeployment.clusters.x-k8s.io/max-replicas": "4"}}}
    former = again(old("a", 2)).having(**noted).made()
    newer = again(a_set("b", 2)).having(**noted).made()
    assert sizes(plan(seen(deployment(7, paused=True), former, newer))) == {"a": 4, "b": 4}


def test_deletion_deletes_the_sets_and_then_lets_go() -> None:
    going = again(a_set("b", 3)).deleting().made()
    leaving = deployment().deleting()
    decided = plan(seen(leaving, old("a", 0), going))
    assert [each.metadata.name for each in decided.delete] == ["a"]
    assert decided.sets == ()
    assert not decided.release
    assert plan(seen(leaving)).release


def test_what_is_not_said_is_waited_for() -> None:
    assert plan(seen(deployment(None))) == Plan("Waiting for spec.replicas set", stuck=True)
    unsized = again(a_set("a", 1)).having(spec={"replicas": None}).made()
    assert plan(seen(deployment(), unsized)).stuck


def test_what_cannot_be_followed_is_explained() -> None:
    nonsense = deployment(rollout={"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "lots"}}})
    decided = plan(seen(nonsense))
    assert decided.stuck
    assert "maxSurge to a number" in decided.says
    unknown = again(a_set("a", 1)).labelled({"machine-template-hash": None}).made()
    assert "has no label machine-template-hash" in plan(seen(deployment(), unknown)).says


def test_a_deployment_that_selects_nothing_does_nothing() -> None:
    decided = plan(seen(deployment().having(spec={"selector": {"matchLabels": {"role": None}}})))
    assert decided.stuck
    assert decided.says.endswith("label selector computed from MachineDeployment.spec.selector is empty")
