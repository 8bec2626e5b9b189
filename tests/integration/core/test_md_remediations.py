"""Cluster API's md_remediations: MachineHealthChecks find workers that do not work, and they are replaced, or not."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from nagaya.api.cluster.annotations import REMEDIATE_MACHINE, SKIP_REMEDIATION
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.kube.errors import AlreadyExists, NotFound
from nagaya.kube.patches import Merge
from support.lab import NODES, Lab, Scenario, condition, message, play_embedded
from support.manifests.simulated import CLUSTER_API, DEPLOYMENT_NAME, Manifest, Simulated
from support.servers import both_servers

Play = Callable[[Scenario], None]
NAME = "demo-workers"
UNHEALTHY = {"type": "e2e.remediation.condition", "status": "False", "timeoutSeconds": 1}
FORCED = {"type": UNHEALTHY["type"], "status": "False", "reason": "Forced", "message": "by the test"}
DEFINITIONS = Kind(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", Untyped, namespaced=False
)
REMEDIATION_GROUP = "remediation.example.com"
REQUESTS = Kind(REMEDIATION_GROUP, "v1", "Repair", "repairs", Untyped)
TEMPLATES = Kind(REMEDIATION_GROUP, "v1", "RepairTemplate", "repairtemplates", Untyped)


@both_servers
def test_a_worker_whose_node_fails_a_check_is_replaced(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=2).manifests(), _check(lab))
        await lab.available("demo")
        before = await lab.running(2)

        async def watched() -> bool:
            check = await lab.get("MachineHealthCheck", "demo-check")
            return bool(check.status.current_healthy == 2 and check.status.expected_machines == 2)

        await lab.until("the check counts both as healthy", watched)
        sick, well = before
        await _spoil(lab, sick)

        async def replaced() -> bool:
            return sick.metadata.uid not in {each.metadata.uid for each in await lab.workers()}

        await lab.until("the sick machine is gone", replaced)
        after = await lab.running(2)
        assert well.metadata.uid in {each.metadata.uid for each in after}
        await lab.until("the check counts both as healthy again", watched)

    play(scenario)


def test_the_annotation_to_remediate_has_a_machine_replaced_and_the_one_to_skip_keeps_it(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=2).manifests(), _check(lab))
        await lab.available("demo")
        replaced, kept = await lab.running(2)
        await lab.annotate("Machine", kept.metadata.name, **{SKIP_REMEDIATION: ""})
        await lab.idle()
        await _spoil(lab, kept)
        await lab.annotate("Machine", replaced.metadata.name, **{REMEDIATE_MACHINE: ""})

        async def gone() -> bool:
            return replaced.metadata.uid not in {each.metadata.uid for each in await lab.workers()}

        await lab.until("the annotated machine is gone", gone)
        await lab.running(2)
        left = await lab.get("Machine", kept.metadata.name)
        assert left.metadata.uid == kept.metadata.uid
        assert condition(left, "HealthCheckSucceeded")[0] != "False"

    play(scenario)


def test_too_many_unhealthy_machines_are_left_alone(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=2).manifests())
        await lab.available("demo")
        before = await lab.running(2)
        first, second = before
        await asyncio.gather(_spoil(lab, first), _spoil(lab, second))
        # It begins when both are seen: one alone would be replaced.
        await lab.idle("demo")
        await lab.create(_check(lab, remediation={"triggerIf": {"unhealthyLessThanOrEqualTo": 1}}))

        async def restricted() -> bool:
            found = await lab.get("MachineHealthCheck", "demo-check")
            return condition(found, "RemediationAllowed") == ("False", "TooManyUnhealthy")

        await lab.until("remediation is not allowed", restricted)

        async def kept() -> bool:
            return {each.metadata.uid for each in await lab.workers()} == {each.metadata.uid for each in before}

        await lab.always(2 if lab.real else 60, kept)
        await _spoil(lab, first, "True")

        async def one_replaced() -> bool:
            names = {each.metadata.name for each in await lab.workers()}
            return first.metadata.name in names and second.metadata.name not in names

        await lab.until("the other one is replaced", one_replaced)
        await lab.running(2)

    play(scenario)


def test_no_more_machines_are_remediated_at_once_than_allowed() -> None:
    """On virtual time only: there the moments in between are seen."""

    async def scenario(lab: Lab) -> None:
        deployment = {"remediation": {"maxInFlight": 1}}
        demo = Simulated("demo", lab.namespace, deployment=deployment, machine={"startupSeconds": 20})
        await lab.create(*demo.manifests(), _check(lab))
        await lab.available("demo")
        before = await lab.running(3)
        for machine in before:
            await _spoil(lab, machine)

        sick = {each.metadata.uid for each in before}
        deferred = False

        async def all_replaced() -> bool:
            nonlocal deferred
            machines = await lab.workers()
            works = [each for each in machines if not each.metadata.deleting]
            remediated = [each for each in machines if condition(each, "OwnerRemediated")[1] == "MachineDeleting"]
            assert len(remediated) <= 1, [each.metadata.name for each in remediated]
            deferred = deferred or any(condition(each, "OwnerRemediated")[1] == "RemediationDeferred" for each in works)
            return not sick & {each.metadata.uid for each in machines}

        await lab.until("all are replaced", all_replaced)
        assert deferred
        await lab.running(3)

    play_embedded(scenario)


def test_a_machine_that_never_joins_is_replaced_after_the_startup_timeout() -> None:
    """On virtual time only: the shortest timeout is half a minute."""

    async def scenario(lab: Lab) -> None:
        checks = {"nodeStartupTimeoutSeconds": 60}
        demo = Simulated("demo", lab.namespace, workers=1)
        check = _check(lab, checks=checks)
        broken = demo.template("demo-broken", faults=[{"stage": "Join", "mode": "Hang"}])
        await lab.create(*demo.manifests(), check, broken)
        await lab.available("demo")
        await lab.running(1)
        reference = {"infrastructureRef": {"name": "demo-broken"}}
        await lab.merge("MachineDeployment", NAME, {"spec": {"template": {"spec": reference}}})

        async def newest() -> Any:
            return next((each for each in await lab.workers() if each.status.node_ref is None), None)

        stuck = await lab.until("there is a machine without a Node", newest)
        await asyncio.sleep(40)
        assert (await lab.get("Machine", stuck.metadata.name)) is not None, "replaced too early"

        async def told() -> bool:
            machine = await lab.get("Machine", stuck.metadata.name)
            return machine is None or condition(machine, "HealthCheckSucceeded") == ("False", "NodeStartupTimeout")

        await lab.until("the check says so", told, patience=40)

        async def gone() -> bool:
            return await lab.get("Machine", stuck.metadata.name) is None

        await lab.until("the machine is replaced", gone, patience=60)
        works = [each for each in await lab.workers() if each.status.node_ref is not None]
        assert len(works) == 1, "the machine of the old template works on"

    play_embedded(scenario)


def test_a_node_that_is_not_heard_of_is_replaced_after_its_time() -> None:
    """On virtual time only: a Node is Unknown after most of a minute."""

    async def scenario(lab: Lab) -> None:
        checks = {"unhealthyNodeConditions": [{"type": "Ready", "status": "Unknown", "timeoutSeconds": 300}]}
        await lab.create(*Simulated("demo", lab.namespace, workers=2).manifests(), _check(lab, checks=checks))
        await lab.available("demo")
        silent, _ = await lab.running(2)
        host = silent.spec.infrastructure_ref.name
        faults = [{"stage": "Run", "mode": "KubeletDead"}]
        await lab.merge("SimulatedMachine", host, {"spec": {"faults": faults}})
        await asyncio.sleep(300)
        machine = await lab.get("Machine", silent.metadata.name)
        assert condition(machine, "NodeReady")[0] == "Unknown"
        assert not machine.metadata.deleting, "replaced too early"

        async def gone() -> bool:
            return await lab.get("Machine", silent.metadata.name) is None

        await lab.until("it is replaced", gone, patience=600)
        await lab.running(2)

    play_embedded(scenario)


def test_somebody_else_may_be_asked_to_remediate(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        for kind in (REQUESTS, TEMPLATES):
            await _define(lab, kind)
        template = {
            "apiVersion": TEMPLATES.api_version,
            "kind": "RepairTemplate",
            "metadata": {"name": "by-hand", "namespace": lab.namespace},
            "spec": {"template": {"spec": {"how": "carefully"}}},
        }
        await lab.client.create(TEMPLATES, template)
        reference = {"apiVersion": TEMPLATES.api_version, "kind": "RepairTemplate", "name": "by-hand"}
        check = _check(lab, remediation={"templateRef": reference})
        await lab.create(*Simulated("demo", lab.namespace, workers=1).manifests(), check)
        await lab.available("demo")
        (machine,) = await lab.running(1)
        await _spoil(lab, machine)

        async def asked() -> Any:
            try:
                return await lab.client.get(REQUESTS, lab.namespace, machine.metadata.name)
            except NotFound:
                return None

        request = await lab.until("there is a request of the machine's name", asked)
        assert request.at("spec", "how") == "carefully"
        assert [each.name for each in request.metadata.owner_references] == [machine.metadata.name]

        async def kept() -> bool:
            found = await lab.get("Machine", machine.metadata.name)
            return found is not None and not found.metadata.deleting

        await lab.always(2 if lab.real else 60, kept)
        assert condition(await lab.get("Machine", machine.metadata.name), "ExternallyRemediated")[0] == "False"
        await _spoil(lab, machine, "True")

        async def withdrawn() -> bool:
            return await asked() is None

        await lab.until("the request is withdrawn from a machine that is healthy again", withdrawn)
        found = await lab.get("Machine", machine.metadata.name)
        assert condition(found, "HealthCheckSucceeded")[0] == "True", message(found, "HealthCheckSucceeded")

    play(scenario)


def _check(lab: Lab, checks: Manifest | None = None, remediation: Manifest | None = None) -> Manifest:
    spec: Manifest = {
        "clusterName": "demo",
        "selector": {"matchLabels": {DEPLOYMENT_NAME: NAME}},
        "checks": checks or {"unhealthyNodeConditions": [UNHEALTHY]},
    }
    if remediation:
        spec["remediation"] = remediation
    return {
        "apiVersion": CLUSTER_API,
        "kind": "MachineHealthCheck",
        "metadata": {"name": "demo-check", "namespace": lab.namespace},
        "spec": spec,
    }


async def _spoil(lab: Lab, machine: Any, status: str = "False") -> None:
    """Give the Node of a machine the condition that the check looks for, as a node problem detector would."""
    client, name = lab.tenant("demo"), machine.status.node_ref.name
    node = await client.get(NODES, "", name)
    others = [each for each in node.at("status", "conditions") if each["type"] != UNHEALTHY["type"]]
    now = lab.world.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    made = {**FORCED, "status": status, "lastTransitionTime": now}
    await client.patch(NODES, "", name, Merge({"status": {"conditions": [*others, made]}}), subresource="status")


async def _define(lab: Lab, kind: Kind[Untyped]) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": kind.version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": kind.kind, "plural": kind.plural}
    spec = {"group": kind.group, "scope": "Namespaced", "names": names, "versions": [version]}
    content = {"metadata": {"name": f"{kind.plural}.{kind.group}"}, "spec": spec}
    with contextlib.suppress(AlreadyExists):
        await lab.client.create(DEFINITIONS, content)

    async def served() -> bool:
        found = await lab.client.get(DEFINITIONS, "", f"{kind.plural}.{kind.group}")
        conditions = found.at("status", "conditions") or ()
        return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)

    await lab.until(f"{kind.plural} are served", served)
