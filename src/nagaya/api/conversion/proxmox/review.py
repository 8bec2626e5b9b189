"""ConversionReviews: how an API server that serves both versions asks for the other one, and how it is answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from nagaya.api.conversion.proxmox.objects import KINDS, NEW_API_VERSION, OLD_API_VERSION, to_new, to_old
from nagaya.api.conversion.proxmox.values import Content, items, mapping

API_VERSION: Final = "apiextensions.k8s.io/v1"
_CHANGES: Final[Mapping[tuple[str, str], Callable[[Content], dict[str, Any]]]] = {
    (OLD_API_VERSION, NEW_API_VERSION): to_new,
    (NEW_API_VERSION, OLD_API_VERSION): to_old,
}


class Unconvertible(ValueError):
    """The message says what cannot be converted."""


def convert(review: Content) -> dict[str, Any]:
    """The answer to a ConversionReview: all objects in the version that is asked for, or why that cannot be."""
    request = mapping(review.get("request"))
    wanted = str(request.get("desiredAPIVersion", ""))
    answer: dict[str, Any] = {"uid": request.get("uid", "")}
    try:
        made = [converted(each, wanted) for each in items(request.get("objects"))]
        answer |= {"convertedObjects": made, "result": {"status": "Success"}}
    except Unconvertible as problem:
        answer |= {"convertedObjects": [], "result": {"status": "Failure", "message": str(problem)}}
    return {"apiVersion": API_VERSION, "kind": "ConversionReview", "response": answer}


def converted(content: Content, wanted: str) -> dict[str, Any]:
    """An object in the version that is asked for. Raises Unconvertible."""
    given, kind = str(content.get("apiVersion", "")), content.get("kind")
    if given == wanted:
        return dict(content)
    change = _CHANGES.get((given, wanted))
    if change is None or kind not in KINDS:
        raise Unconvertible(f"{kind} cannot be converted from {given} to {wanted}")
    return change(content)
