"""Health checks: conditions and the limits of remediation each got a place of their own in v1beta2."""

from __future__ import annotations

from typing import Any

from nagaya.api.conversion.draft import Draft
from nagaya.api.conversion.v1beta1.references import take_template_reference


def machine_health_check(draft: Draft) -> None:
    """A MachineHealthCheck."""
    spec = draft.at("spec")
    if spec is not None:
        _rearrange(spec)


def embedded_health_check(draft: Draft) -> None:
    """The health check inside a ClusterClass or a topology: `machineHealthCheck` becomes `healthCheck`."""
    check = draft.take_map("machineHealthCheck")
    if check is None:
        return
    check.move("enable", "enabled")
    _rearrange(check)
    draft.put(check.content, "healthCheck")


def _rearrange(spec: Draft) -> None:
    for conditions in ("unhealthyConditions", "unhealthyMachineConditions"):
        for condition in spec.each(conditions):
            condition.move_seconds("timeout", "timeoutSeconds")
    spec.move("unhealthyConditions", "checks", "unhealthyNodeConditions")
    spec.move("unhealthyMachineConditions", "checks", "unhealthyMachineConditions")
    spec.move_seconds("nodeStartupTimeout", "checks", "nodeStartupTimeoutSeconds")
    spec.move("maxUnhealthy", "remediation", "triggerIf", "unhealthyLessThanOrEqualTo")
    spec.move("unhealthyRange", "remediation", "triggerIf", "unhealthyInRange")
    template: dict[str, Any] | None = take_template_reference(spec, "remediationTemplate")
    spec.put(template, "remediation", "templateRef")
