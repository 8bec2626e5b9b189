"""Taints that machines give to their nodes."""

from __future__ import annotations

from typing import Annotated, Final

from nagaya.api.cluster.formats import TAINT_KEY, TAINT_VALUE
from nagaya.api.model import Model, doc

ALWAYS: Final = "Always"
ON_INITIALIZATION: Final = "OnInitialization"

NODE_UNINITIALIZED: Final = "node.cluster.x-k8s.io/uninitialized"
"""NoSchedule, from the bootstrap provider: keeps pods away until labels and taints have come from the Machine."""

NODE_OUTDATED_REVISION: Final = "node.cluster.x-k8s.io/outdated-revision"
"""PreferNoSchedule, during a rollout: keeps pods off nodes that will go soon."""


class MachineTaint(Model):
    """A taint for the node of a machine, and how long the machine insists on it."""

    key: Annotated[
        str,
        doc(
            "The key of the taint, for example example.com/gpu. Keys that Kubernetes itself manages are refused.",
            minLength=1,
            maxLength=317,
            pattern=TAINT_KEY,
        ),
    ]
    value: Annotated[
        str, doc("The value of the taint. It has none if left out.", minLength=1, maxLength=63, pattern=TAINT_VALUE)
    ] = ""
    effect: Annotated[
        str,
        doc(
            "What happens to pods that do not tolerate the taint: NoSchedule keeps new ones away, PreferNoSchedule "
            "tries to, NoExecute also evicts those that run.",
            enum=["NoSchedule", "PreferNoSchedule", "NoExecute"],
        ),
    ]
    propagation: Annotated[
        str,
        doc(
            "Always keeps the taint on the node as it is written here, even if somebody changes it there. "
            "OnInitialization sets it once, when the node joins, and then leaves it to others.",
            enum=[ALWAYS, ON_INITIALIZATION],
        ),
    ]


Taints = Annotated[
    tuple[MachineTaint, ...],
    doc(
        "Taints for the Node. Those that something else has set on it are left alone. A change reaches the Node "
        "without a new machine.",
        minItems=1,
        maxItems=64,
        list_type="map",
        list_map_keys=["key", "effect"],
    ),
]
