"""The 403 that tells a client what it may not do, in the words people search for."""

from __future__ import annotations

from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.meta import gostring, status
from nagaya.apiserver.meta.status import ApiError

# Paths are the client's own text, and the message may end up in a browser.
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def forbidden(attributes: Attributes, reason: str = "") -> ApiError:
    """The refusal of a request that nobody allowed."""
    message = describe(attributes).translate(_ESCAPES)
    if reason:
        message = f"{message}: {reason}"
    refusal = status.forbidden(attributes.group_resource, attributes.name, message)
    refusal.headers["X-Content-Type-Options"] = "nosniff"  # it quotes what the client sent
    return refusal


def describe(attributes: Attributes) -> str:
    """What the user cannot do."""
    quote = gostring.quote
    who = f"User {quote(attributes.user.name)} cannot {attributes.verb}"
    if not attributes.is_resource:
        return f"{who} path {quote(attributes.path)}"
    resource = attributes.resource
    if attributes.subresource:
        resource = f"{resource}/{attributes.subresource}"
    what = f"{who} resource {quote(resource)} in API group {quote(attributes.group)}"
    if attributes.namespace:
        return f"{what} in the namespace {quote(attributes.namespace)}"
    return f"{what} at the cluster scope"
