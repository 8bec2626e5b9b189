"""What machines say of one thing, put together for the control plane: who has which problem."""

from __future__ import annotations

from collections.abc import Sequence

from nagaya.api.cluster.machine import Machine
from nagaya.api.controlplane import conditions as kubeadm
from nagaya.api.meta import Condition
from nagaya.clusters.names import MACHINES_SHOWN, listed
from nagaya.kube.conditions import condition, get


def total(
    type: str, machines: Sequence[Machine], types: Sequence[str], problems: Sequence[str], subject: str
) -> Condition:
    """The condition of the control plane, from conditions of its machines and problems of no machine in particular."""
    told: dict[str, list[str]] = {}
    statuses: set[str] = set()
    for machine in machines:
        lines: list[str] = []
        messages: set[str] = set()
        count = 0
        for each in types:
            found = get(machine.status.conditions, each)
            if found is None:
                continue
            count += 1
            messages.add(found.message)
            if found.status == "True" or (found.status == "Unknown" and not machine.spec.provider_id):
                # A machine that is not even placed yet has nothing to say, and that is no problem.
                statuses.add("True")
                continue
            statuses.add(found.status)
            lines.append(f"  * {each}: {found.message or f'condition is {found.status}'}")
        if lines and count > 1 and len(messages) == 1:
            lines = [f"  * Control plane components: {messages.pop()}"]
        if lines:
            told.setdefault("\n".join(lines), []).append(machine.metadata.name)
    order = sorted(told, key=lambda text: (-len(told[text]), ",".join(told[text])))
    message = "\n".join([*(f"* {_named(told[text])}:\n{text}" for text in order), *(f"* {each}" for each in problems)])
    if problems or "False" in statuses:
        return condition(type, False, kubeadm.NOT_HEALTHY_REASON, message)
    if "Unknown" in statuses:
        return condition(type, "Unknown", kubeadm.HEALTH_UNKNOWN_REASON, message)
    if "True" in statuses:
        return condition(type, True, kubeadm.HEALTHY_REASON)
    return condition(type, "Unknown", kubeadm.HEALTH_UNKNOWN_REASON, f"No Machines reporting {subject} status")


def _named(names: Sequence[str]) -> str:
    return f"Machine{'s' if len(names) > 1 else ''} {listed(sorted(names), MACHINES_SHOWN)}"
