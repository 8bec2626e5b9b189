"""What the specifications and statuses of MachineSets and MachineDeployments have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from nagaya.api.cluster.deletion_order import DeletionOrder
from nagaya.api.model import Model, doc

ReplicaCount = Annotated[int | None, doc("How many machines there are.")]
ReadyReplicas = Annotated[int | None, doc("How many of the machines are Ready.")]
AvailableReplicas = Annotated[
    int | None, doc("How many of the machines are Available: Ready for at least minReadySeconds.")
]
UpToDateReplicas = Annotated[
    int | None, doc("How many of the machines are UpToDate: they are what the template says now.")
]
SelectorText = Annotated[
    str,
    doc(
        "The selector as text, for the scale subresource: autoscalers find the machines with it.",
        minLength=1,
        maxLength=4096,
    ),
]


class GroupDeletion(Model):
    """How machines are deleted."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    order: DeletionOrder = ""


class MachineNaming(Model):
    """How machines are named."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    template: Annotated[
        str,
        doc(
            "A Go template for names of machines. It may use .cluster.name, .machineSet.name and .random, which are "
            "five letters or digits, and must use {{ .random }}. Names over 63 characters are cut short. If left out: "
            "{{ .machineSet.name }}-{{ .random }}.",
            minLength=1,
            maxLength=256,
        ),
    ] = ""
