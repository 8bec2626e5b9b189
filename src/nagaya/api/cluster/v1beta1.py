"""What statuses still carry for clients of the version before. Nothing of ours reads it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from nagaya.api.model import Model, doc


class V1Beta1Condition(Model):
    """A condition as the previous version of the API has them."""

    type: Annotated[str, doc("Which aspect of the state this is, in CamelCase.", minLength=1, maxLength=256)]
    status: Annotated[str, doc("Whether the condition holds: True, False, or Unknown.")]
    severity: Annotated[
        str, doc("How bad it is that the condition does not hold: Error, Warning or Info.", maxLength=32)
    ] = ""
    last_transition_time: Annotated[datetime, doc("When the status of the condition last changed.")]
    reason: Annotated[str, doc("Why it does not hold, in one CamelCase word.", minLength=1, maxLength=256)] = ""
    message: Annotated[str, doc("Details for people.", minLength=1, maxLength=10240)] = ""


V1Beta1Conditions = Annotated[
    tuple[V1Beta1Condition, ...], doc("The conditions that the previous version of the API defined.")
]
FailureReason = Annotated[
    str, doc("In one word, what made the previous version of the API give up on the object for good.")
]
FailureMessage = Annotated[
    str,
    doc(
        "For people, what made the previous version of the API give up on the object for good.",
        minLength=1,
        maxLength=10240,
    ),
]
NodesReady = Annotated[int | None, doc("How many machines have a node that is ready.")]
NodesAvailable = Annotated[int | None, doc("How many machines have had a ready node for long enough.")]
NodesUnavailable = Annotated[int | None, doc("How many machines are missing, or not available.")]
DEPRECATED = doc("What only clients of older versions of the API read.")
V1BETA1 = doc("What only clients of v1beta1 read.")


class V1Beta1Status(Model):
    """The part of a status that v1beta1 had, for kinds that had conditions only."""

    conditions: V1Beta1Conditions = ()


class DeprecatedStatus(Model):
    """What only clients of older versions of the API read, for kinds that had conditions only."""

    v1beta1: Annotated[V1Beta1Status, V1BETA1] = V1Beta1Status()


class V1Beta1FailureStatus(Model):
    """The part of a status that v1beta1 had, for kinds that could fail for good."""

    conditions: V1Beta1Conditions = ()
    failure_reason: FailureReason = ""
    failure_message: FailureMessage = ""


class DeprecatedFailureStatus(Model):
    """What only clients of older versions of the API read, for kinds that could fail for good."""

    v1beta1: Annotated[V1Beta1FailureStatus, V1BETA1] = V1Beta1FailureStatus()
