"""How many replicas there are if nobody says so.

The cluster autoscaler takes over only a number between its minimum and maximum. So if both are annotated, a number that
was left out becomes one in between: the one before if it is, else the nearer end.
"""

from __future__ import annotations

from nagaya.api.admission.content import Content, mapping, number, put, text
from nagaya.api.admission.golang import NotANumber, parse_int, quote
from nagaya.api.admission.refusal import Refusal
from nagaya.api.cluster import annotations as annotation


def with_replicas(new: Content, old: Content | None, kind: str) -> Content:
    """The object with a number of replicas. Raises Refusal if the autoscaler's annotations are no numbers."""
    if mapping(new, "spec").get("replicas") is not None:
        return new
    return put(new, _replicas(new, old, kind), "spec", "replicas")


def _replicas(new: Content, old: Content | None, kind: str) -> int:
    given = mapping(new, "metadata", "annotations")
    if annotation.AUTOSCALER_MIN_SIZE not in given or annotation.AUTOSCALER_MAX_SIZE not in given:
        return 1
    smallest = _size(given, annotation.AUTOSCALER_MIN_SIZE, kind)
    largest = _size(given, annotation.AUTOSCALER_MAX_SIZE, kind)
    before = number(old, "spec", "replicas") if old is not None else None
    if before is None or before < smallest:
        return smallest
    return min(before, largest)


def _size(given: Content, annotation: str, kind: str) -> int:
    try:
        return parse_int(text(given, annotation), bits=32, function="ParseInt")
    except NotANumber as error:
        # The spelling is upstream's.
        raise Refusal(
            f"failed to caculate {kind} replicas value: could not parse the value of the {quote(annotation)} "
            f"annotation: {error}"
        ) from error
