"""When a machine counts as unhealthy, and when that is acted upon. MachineHealthChecks and topologies say it alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

from nagaya.api.cluster.formats import CONDITION_TYPE, RANGE
from nagaya.api.cluster.reference import TemplateReference
from nagaya.api.model import Model, doc, rule

DEFAULT_NODE_STARTUP_TIMEOUT_SECONDS: Final = 600

_OWN_CONDITIONS: Final = "['Ready','Available','HealthCheckSucceeded','OwnerRemediated','ExternallyRemediated']"


class UnhealthyNodeCondition(Model):
    """A condition of a Node that must not last."""

    type: Annotated[str, doc("Which condition of the Node, for example Ready.", minLength=1)]
    status: Annotated[str, doc("The status that must not last, for example Unknown.", minLength=1)]
    timeout_seconds: Annotated[
        int, doc("After how many seconds in this status the machine counts as unhealthy.", minimum=0)
    ]


class UnhealthyMachineCondition(Model):
    """A condition of a Machine that must not last."""

    type: Annotated[
        str,
        doc(
            "Which condition of the Machine, for example one that a controller of yours sets. Those that follow from "
            "health checks are not allowed.",
            minLength=1,
            maxLength=316,
            pattern=CONDITION_TYPE,
            rules=[
                rule(
                    f"!(self in {_OWN_CONDITIONS})",
                    "must not be a condition that depends on health checks itself: Ready, Available, "
                    "HealthCheckSucceeded, OwnerRemediated, ExternallyRemediated",
                )
            ],
        ),
    ]
    status: Annotated[str, doc("The status that must not last.", enum=["True", "False", "Unknown"])]
    timeout_seconds: Annotated[
        int, doc("After how many seconds in this status the machine counts as unhealthy.", minimum=0)
    ]


class HealthChecks(Model):
    """When a machine counts as unhealthy. Any one of the checks is enough."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    node_startup_timeout_seconds: Annotated[
        int | None,
        doc(
            "How many seconds a machine has until its Node is there, counted from when the cluster could have taken "
            "it. Then it counts as unhealthy. 0 turns the check off, other values are at least 30; 600 if left out.",
            minimum=0,
        ),
    ] = None
    unhealthy_node_conditions: Annotated[
        tuple[UnhealthyNodeCondition, ...],
        doc(
            "Conditions of the Node that make the machine unhealthy when they last. Example: Ready is Unknown for 300 "
            "s.",
            minItems=1,
            maxItems=100,
            list_type="atomic",
        ),
    ] = ()
    unhealthy_machine_conditions: Annotated[
        tuple[UnhealthyMachineCondition, ...],
        doc(
            "Conditions of the Machine that make it unhealthy when they last.",
            minItems=1,
            maxItems=100,
            list_type="atomic",
        ),
    ] = ()


class RemediationTrigger(Model):
    """When remediation may begin. Outside of it so much is wrong that replacing machines would make it worse."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    unhealthy_less_than_or_equal_to: Annotated[
        int | str | None,
        doc(
            "Remediate only while at most this many of the checked machines are unhealthy: a number, or a share such "
            "as 40%. No limit if left out."
        ),
    ] = None
    unhealthy_in_range: Annotated[
        str,
        doc(
            "Remediate only while the number of unhealthy machines lies within this range, both ends included. "
            "Example: [3-5]. It takes precedence over unhealthyLessThanOrEqualTo.",
            minLength=1,
            maxLength=32,
            pattern=RANGE,
        ),
    ] = ""


RemediationTemplate = Annotated[
    TemplateReference | None,
    doc(
        "A template of somebody else's remediation requests. For each unhealthy machine one is made from it, and "
        "whoever knows its kind takes care of the machine. If left out, the owner of the machine replaces it."
    ),
]
CHECKS: Final = doc("When a machine counts as unhealthy.")
TRIGGER: Final = doc("When remediation may begin. Always if left out.")


class Remediation(Model):
    """What is done about unhealthy machines."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    trigger_if: Annotated[RemediationTrigger, TRIGGER] = RemediationTrigger()
    template_ref: RemediationTemplate = None


class WorkerRemediation(Model):
    """What is done about unhealthy workers."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    max_in_flight: Annotated[
        int | str | None,
        doc(
            "How many unhealthy machines may be replaced at the same time: a number, or a share such as 20%, rounded "
            "up. No limit if left out."
        ),
    ] = None
    trigger_if: Annotated[RemediationTrigger, TRIGGER] = RemediationTrigger()
    template_ref: RemediationTemplate = None


REMEDIATION: Final = doc("What is done about unhealthy machines, and when.")
