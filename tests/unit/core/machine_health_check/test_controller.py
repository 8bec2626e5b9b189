"""The whole controller against a server: what it tells, when, and how little it writes for that."""

from __future__ import annotations

import pytest

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.machine import MACHINES
from nagaya.api.cluster.machine_health_check import MACHINE_HEALTH_CHECKS
from nagaya.clusters.node import NODES
from nagaya.kube.conditions import get
from nagaya.kube.errors import NotFound
from support.builders import CLUSTER
from unit.core.machine_health_check.plane import KEY, NAMESPACE, REFERENCE, REQUESTS, TEMPLATES, Plane, on_a_plane

pytestmark = pytest.mark.slow

HEALTH = "HealthCheckSucceeded"
HEALTHY = "True HealthCheckSucceeded"


def test_healthy_machines_cost_one_write_each_and_then_nothing() -> None:
    async def test(plane: Plane) -> None:
        await plane.machine("a")
        await plane.machine("b")
        await plane.check()
        assert plane.transport.writes == [
            "PATCH machinehealthchecks/workers",
            "PATCH machines/a/status",
            "PATCH machines/b/status",
            "PATCH machinehealthchecks/workers/status",
        ]
        assert await plane.told("a", HEALTH) == HEALTHY
        found = await plane.found()
        assert found.metadata.labels == {"cluster.x-k8s.io/cluster-name": CLUSTER}
        assert [each.kind for each in found.metadata.owner_references] == ["Cluster"]
        assert (found.status.expected_machines, found.status.current_healthy) == (2, 2)
        assert found.status.remediations_allowed == 2
        assert found.status.targets == ("a", "b")
        assert found.status.observed_generation == 1
        await plane.pass_time(3600)
        assert len(plane.transport.writes) == 4
        assert set(plane.transport.answers) == {200}

    on_a_plane(test)


def test_a_node_that_stays_bad_costs_its_machine_one_write_at_the_limit() -> None:
    async def test(plane: Plane) -> None:
        await plane.machine("a")
        await plane.machine("b")
        await plane.check()
        before = len(plane.transport.writes)
        await plane.node("a", "False")
        assert await plane.told("a", HEALTH) == HEALTHY, "it has time left"
        assert (await plane.found()).status.current_healthy == 1
        await plane.pass_time(59)
        assert await plane.told("a", "OwnerRemediated") == ""
        await plane.pass_time(3)
        assert await plane.told("a", HEALTH) == "False UnhealthyNode"
        assert await plane.told("a", "OwnerRemediated") == "False WaitingForRemediation"
        assert plane.transport.writes[before:] == [
            "PATCH machinehealthchecks/workers/status",
            "PATCH machines/a/status",
        ]
        assert await plane.events() == [
            "MachineMarkedUnhealthy: Machine default/a has been marked as unhealthy by default/workers"
        ]

    on_a_plane(test)


def test_what_the_owner_says_of_a_remediation_survives_further_checks() -> None:
    async def test(plane: Plane) -> None:
        await plane.machine("a")
        await plane.check()
        await plane.node("a", "False")
        await plane.pass_time(62)
        await plane.change(MACHINES, "a", metadata={"annotations": {"cluster.x-k8s.io/remediate-machine": ""}})
        assert await plane.told("a", HEALTH) == "False HasRemediateAnnotation"
        assert await plane.told("a", "OwnerRemediated") == "False WaitingForRemediation"
        await plane.report(MACHINES, "a", manager="owner", OwnerRemediated="False")
        await plane.change(MACHINES, "a", metadata={"annotations": {"cluster.x-k8s.io/remediate-machine": None}})
        assert await plane.told("a", HEALTH) == "False UnhealthyNode"
        assert await plane.told("a", "OwnerRemediated") == "False Owner"
        await plane.node("a", "True")
        assert await plane.told("a", HEALTH) == HEALTHY
        assert await plane.told("a", "OwnerRemediated") == "False Owner", "the owner removes it"
        await plane.report(MACHINES, "a", manager="owner", OwnerRemediated="True")
        await plane.node("a", "False")
        await plane.pass_time(62)
        assert await plane.told("a", "OwnerRemediated") == "False WaitingForRemediation"

    on_a_plane(test)


def test_beyond_the_limit_nothing_is_handed_over_until_it_is_lifted() -> None:
    async def test(plane: Plane) -> None:
        await plane.machine("a")
        await plane.machine("b")
        await plane.check(triggerIf={"unhealthyLessThanOrEqualTo": 0})
        await plane.node("a", "False")
        await plane.pass_time(62)
        message = (
            "Remediation is not allowed, the number of not started or unhealthy machines exceeds maxUnhealthy "
            "(total: 2, unhealthy: 1, maxUnhealthy: 0)"
        )
        assert await plane.told("a", HEALTH) == "False UnhealthyNode"
        assert await plane.told("a", "OwnerRemediated") == ""
        condition = get((await plane.found()).status.conditions, "RemediationAllowed")
        assert condition is not None
        assert (condition.status, condition.reason, condition.message) == ("False", "TooManyUnhealthy", message)
        assert await plane.events() == [f"RemediationRestricted: {message}"]
        spec = {"remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": "50%"}}}
        await plane.change(MACHINE_HEALTH_CHECKS, "workers", spec=spec)
        assert await plane.told("a", "OwnerRemediated") == "False WaitingForRemediation"
        found = await plane.found()
        assert (found.status.remediations_allowed, found.status.observed_generation) == (0, 2)

    on_a_plane(test)


def test_a_machine_whose_node_is_deleted_is_noticed_at_once() -> None:
    async def test(plane: Plane) -> None:
        await plane.machine("a")
        await plane.check()
        await plane.user.delete(NODES, "", "node-a")
        await plane.idle()
        assert await plane.told("a", HEALTH) == "False NodeDeleted"

    on_a_plane(test)


def test_a_tenant_that_cannot_be_reached_says_nothing_about_its_machines() -> None:
    async def test(plane: Plane) -> None:
        await plane.machine("a")
        plane.remotes.forget(KEY)
        await plane.pass_time(1)
        await plane.check()
        found = await plane.found()
        assert found.status.expected_machines is None
        assert await plane.told("a", HEALTH) == ""
        await plane.connect()
        await plane.pass_time(1)
        assert await plane.told("a", HEALTH) == HEALTHY

    on_a_plane(test)


def test_nodes_are_no_news_one_by_one_while_they_are_being_listed() -> None:
    async def test(plane: Plane) -> None:
        for name in "abc":
            await plane.machine(name)
        await plane.check()
        plane.remotes.forget(KEY)
        await plane.pass_time(1)
        before = plane.controller.queue.adds
        await plane.connect()
        await plane.pass_time(1)
        assert plane.controller.queue.adds - before == 2, "the tenant is there, and all of its Nodes are known"

    on_a_plane(test)


def test_machines_that_somebody_wants_left_alone_are_no_targets() -> None:
    async def test(plane: Plane) -> None:
        for name in "abcd":
            await plane.machine(name)
        await plane.check()
        await plane.change(MACHINES, "a", metadata={"annotations": {"cluster.x-k8s.io/paused": ""}})
        await plane.change(MACHINES, "b", metadata={"annotations": {"cluster.x-k8s.io/skip-remediation": ""}})
        await plane.change(MACHINES, "c", metadata={"labels": {"role": "other"}})
        assert (await plane.found()).status.targets == ("d",)

    on_a_plane(test)


def test_a_paused_cluster_keeps_its_checks_from_everything() -> None:
    async def test(plane: Plane) -> None:
        await plane.machine("a")
        await plane.change(CLUSTERS, CLUSTER, spec={"paused": True})
        await plane.check()
        assert plane.transport.writes == ["PATCH machinehealthchecks/workers/status"]
        condition = get((await plane.found()).status.conditions, "Paused")
        assert condition is not None
        assert (condition.status, condition.message) == ("True", "Cluster spec.paused is set to true")
        await plane.change(CLUSTERS, CLUSTER, spec={"paused": None})
        assert await plane.told("a", HEALTH) == HEALTHY

    on_a_plane(test)


def test_somebody_else_remediates_by_a_request_that_goes_when_the_machine_is_well() -> None:
    async def test(plane: Plane) -> None:
        await plane.machine("a")
        await plane.check(templateRef=REFERENCE)
        assert await plane.told("a", HEALTH) == HEALTHY
        await plane.node("a", "False")
        await plane.pass_time(62)
        assert await plane.told("a", "ExternallyRemediated") == "False RemediationTemplateNotFound"
        metadata = {"name": "reboot", "namespace": NAMESPACE}
        template = {"metadata": metadata, "spec": {"template": {"spec": {"type": "Reboot"}}}}
        await plane.user.create(TEMPLATES, template)
        await plane.idle()
        assert await plane.told("a", "ExternallyRemediated") == "False WaitingForRemediation"
        assert await plane.told("a", "OwnerRemediated") == ""
        request = await plane.user.get(REQUESTS, NAMESPACE, "a")
        assert request.at("spec", "type") == "Reboot"
        await plane.node("a", "True")
        assert await plane.told("a", HEALTH) == HEALTHY
        with pytest.raises(NotFound):
            await plane.user.get(REQUESTS, NAMESPACE, "a")

    on_a_plane(test)


def test_a_request_that_cannot_be_made_is_told_and_tried_again() -> None:
    async def test(plane: Plane) -> None:
        metadata = {"name": "reboot", "namespace": NAMESPACE}
        await plane.user.create(TEMPLATES, {"metadata": metadata, "spec": {"template": {"spec": {}}}})
        await plane.machine("a")
        plane.transport.refused = "boatremediations"
        await plane.check(templateRef=REFERENCE)
        await plane.node("a", "False")
        await plane.pass_time(62)
        assert await plane.told("a", "ExternallyRemediated") == "False RemediationRequestCreationFailed"
        plane.transport.refused = ""
        await plane.pass_time(1000)
        assert await plane.told("a", "ExternallyRemediated") == "False WaitingForRemediation"
        assert (await plane.user.get(REQUESTS, NAMESPACE, "a")).metadata.owner_references[0].kind == "Machine"

    on_a_plane(test)
