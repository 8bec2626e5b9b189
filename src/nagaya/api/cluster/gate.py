"""Gates: conditions of other controllers that count for whether something is ready or available."""

from __future__ import annotations

from typing import Annotated, Final

from nagaya.api.cluster.formats import CONDITION_TYPE
from nagaya.api.model import Model, doc

POSITIVE: Final = "Positive"
NEGATIVE: Final = "Negative"


class Gate(Model):
    """A condition, maintained by somebody else, that has to be good as well."""

    condition_type: Annotated[
        str,
        doc(
            "Which condition of the object has to be good. One that is not there counts as unknown.",
            minLength=1,
            maxLength=316,
            pattern=CONDITION_TYPE,
        ),
    ]
    polarity: Annotated[
        str,
        doc(
            "What counts as good: True with Positive, False with Negative. Positive if left out.",
            enum=[POSITIVE, NEGATIVE],
        ),
    ] = ""


ReadinessGates = Annotated[
    tuple[Gate, ...],
    doc(
        "Further conditions of the Machine that must be good before it counts as Ready. They are set by controllers of "
        "yours, for example one that waits until a node is known to a load balancer.",
        minItems=1,
        maxItems=32,
        list_type="map",
        list_map_keys=["conditionType"],
    ),
]
AvailabilityGates = Annotated[
    tuple[Gate, ...],
    doc(
        "Further conditions of the Cluster that must be good before it counts as Available. They are set by "
        "controllers of yours.",
        minItems=1,
        maxItems=32,
        list_type="map",
        list_map_keys=["conditionType"],
    ),
]
