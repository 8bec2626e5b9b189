"""Equal strings kept once.

Thousands of machines carry the same labels and live in the same few namespaces. The decoder makes a string for each of
them; sharing them saves a few hundred bytes per object and makes comparisons trivial.
"""

from __future__ import annotations

from sys import intern
from typing import cast

import msgspec

from nagaya.api.kind import Object


def share_strings(obj: Object) -> None:
    """Replace the values of labels and the namespace by equal strings in use. For objects that nobody has seen yet."""
    metadata = obj.metadata
    labels = cast("dict[str, str]", metadata.labels)
    for name, value in labels.items():
        labels[name] = intern(value)
    if metadata.namespace:
        msgspec.structs.force_setattr(metadata, "namespace", intern(metadata.namespace))
