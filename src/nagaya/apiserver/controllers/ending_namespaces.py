"""Refusals that are no failure: the namespace began to go after a controller had looked at something in it."""

from __future__ import annotations

from nagaya.apiserver.meta.status import ApiError


def is_ending(error: ApiError) -> bool:
    """Whether nothing can be created any more because the namespace goes, or has gone already."""
    causes = (error.details or {}).get("causes") or ()
    ending = any(each.get("reason") == "NamespaceTerminating" for each in causes)
    return ending or (error.code == 404 and (error.details or {}).get("kind") == "namespaces")
