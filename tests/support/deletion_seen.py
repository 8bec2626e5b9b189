"""Machines that are being deleted, as their deletion sees them: a running worker in a cluster with a control plane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_drain_rule import MACHINE_DRAIN_RULES, MachineDrainRule
from nagaya.api.contract.provider import ControlPlane
from nagaya.clusters.external import Referenced
from nagaya.core.machine.seen import Seen
from support.builders import CONTROL_PLANE, Draft, MachineDraft, machine, provider
from support.machine_seen import node, seen

WORKER = machine("a").running().deleting()
CONTROL_PLANE_MACHINE = machine("cp").control_plane().running()


def going(
    worker: MachineDraft = WORKER,
    *,
    control_plane: Draft[Any] | str | None = "",
    others: tuple[Draft[Machine], ...] = (CONTROL_PLANE_MACHINE,),
    **parts: Any,
) -> Seen:
    """What is seen of a machine that is to go. `control_plane`: None if the Cluster names none, a text that says why
    the one that it names cannot be used."""
    view = seen(worker, **{"nodes": (node(),), **parts})
    found: Referenced[ControlPlane] | None = None
    if control_plane is not None:
        reference = view.cluster.spec.control_plane_ref
        assert reference is not None
        found = Referenced(reference, CONTROL_PLANE)
        if isinstance(control_plane, Draft):
            found = replace(found, provider=ControlPlane(control_plane.made(), "v1beta2"))
        elif control_plane:
            found = replace(found, problem=control_plane)
        else:
            found = replace(found, provider=ControlPlane(provider(CONTROL_PLANE, "harbour").made(), "v1beta2"))
    machines = (view.machine, *(each.made() for each in others))
    return replace(view, control_plane=found, cluster_machines=machines)


def rule(name: str, behavior: str, order: int | None = None, **spec: Any) -> MachineDrainRule:
    """A MachineDrainRule."""
    drain: Mapping[str, Any] = {"behavior": behavior} if order is None else {"behavior": behavior, "order": order}
    return MACHINE_DRAIN_RULES.convert({"metadata": {"name": name}, "spec": {"drain": drain, **spec}})
