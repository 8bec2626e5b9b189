"""Label selectors: which objects, by their labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from nagaya.api.meta import NONE
from nagaya.api.model import Model, doc


class LabelSelectorRequirement(Model):
    """One condition on one label."""

    key: Annotated[str, doc("The label that the condition is about.")]
    operator: Annotated[str, doc("How the label relates to the values: In, NotIn, Exists or DoesNotExist.")]
    values: Annotated[
        tuple[str, ...],
        doc("What In and NotIn compare with, at least one. Exists and DoesNotExist take none.", list_type="atomic"),
    ] = ()


class LabelSelector(Model):
    """Objects whose labels fulfil all conditions. One without any condition selects everything."""

    __schema__: ClassVar[Mapping[str, object]] = {"map_type": "atomic"}

    match_labels: Annotated[
        Mapping[str, str], doc("Labels that an object must have, with exactly these values. All must match.")
    ] = NONE
    match_expressions: Annotated[
        tuple[LabelSelectorRequirement, ...],
        doc("Further conditions on labels. All must be fulfilled, together with matchLabels.", list_type="atomic"),
    ] = ()
