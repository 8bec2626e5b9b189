"""What all Kubernetes objects have in common: metadata, owners, conditions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Final, Literal

from nagaya.api.model import Model, doc

NONE: Final[Mapping[str, str]] = {}
ConditionStatus = Literal["True", "False", "Unknown"]


class OwnerReference(Model):
    """An object that this one belongs to and goes with."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Model):
    """Metadata without `managedFields`: no controller needs them, and they often outweigh the rest of an object."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    labels: Mapping[str, str] = NONE
    annotations: Mapping[str, str] = NONE
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()

    @property
    def deleting(self) -> bool:
        """Whether somebody asked for the deletion of the object."""
        return self.deletion_timestamp is not None

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages the object, if any."""
        return next((each for each in self.owner_references if each.controller), None)


class Condition(Model):
    """One aspect of an object's state, with the reason for it."""

    type: Annotated[
        str,
        doc(
            "Which aspect of the state this is, in CamelCase or prefixed as in foo.example.com/CamelCase.",
            maxLength=316,
            pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
            r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
        ),
    ]
    status: Annotated[
        ConditionStatus, doc("Whether the condition holds: True, False, or Unknown.", enum=["True", "False", "Unknown"])
    ]
    observed_generation: Annotated[
        int | None,
        doc(
            "The metadata.generation that the condition was set for; if it is behind, the condition is.",
            minimum=0,
            format="int64",
        ),
    ] = None
    last_transition_time: Annotated[datetime, doc("When the status of the condition last changed.")]
    reason: Annotated[
        str,
        doc(
            "Why the condition has this status, in one CamelCase word that programs can rely on.",
            minLength=1,
            maxLength=1024,
            pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
        ),
    ]
    message: Annotated[
        str, doc("Details for people: what is wrong, with evidence, and what happens next.", maxLength=32768)
    ]
