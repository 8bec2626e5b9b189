"""Fields that the status of every kind has."""

from __future__ import annotations

from typing import Annotated

from nagaya.api.meta import Condition
from nagaya.api.model import doc

Conditions = Annotated[
    tuple[Condition, ...],
    doc("What holds of the object, each with a reason.", maxItems=32, list_type="map", list_map_keys=["type"]),
]
ObservedGeneration = Annotated[
    int | None,
    doc(
        "The metadata.generation that this status was made for. If it is behind, the last change is not in it yet.",
        format="int64",
        minimum=1,
    ),
]
