"""The members of `metadata` that belong to the server, and how each verb treats them."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from nagaya.apiserver.meta import status
from nagaya.apiserver.meta.status import JsonObject
from nagaya.world import World

_NAME_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # no vowels and no look-alikes, so that no words come out
_SUFFIX = 5
_NAME_LIMIT = 63
NAME_ATTEMPTS = 8

_WIPED = ("creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")


def metadata_of(obj: JsonObject) -> JsonObject:
    """An object's metadata, made if it is missing."""
    found = obj.get("metadata")
    if found is None:
        found = obj["metadata"] = {}
    metadata: JsonObject = found
    return metadata


def wipe(metadata: JsonObject) -> None:
    """Forget what a creator says about members that only the server sets."""
    for member in _WIPED:
        metadata.pop(member, None)


def place(metadata: JsonObject, namespace: str) -> None:
    """Put an object into the namespace of the request. Raises 400 if it says it is elsewhere."""
    given = metadata.get("namespace") or ""
    if given == namespace:
        return
    if not namespace:
        metadata.pop("namespace", None)
    elif not given:
        metadata["namespace"] = namespace
    else:
        raise status.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def generate_name(prefix: str, world: World) -> str:
    """A name that starts with the prefix and ends in five random letters, cut to fit a DNS label."""
    suffix = "".join(world.random.choice(_NAME_LETTERS) for _ in range(_SUFFIX))
    return prefix[: _NAME_LIMIT - _SUFFIX] + suffix


def drop_duplicate_owners(metadata: JsonObject, warn: Callable[[str], None], *, after_admission: bool) -> None:
    """Keep each owner reference once, and tell the client."""
    owners = metadata.get("ownerReferences")
    if not owners or len(owners) == 1:
        return
    kept: dict[bytes, JsonObject] = {}
    keys = [orjson.dumps(owner, option=orjson.OPT_SORT_KEYS) for owner in owners]
    repeated = [
        owner.get("uid") or ""
        for key, owner in zip(keys, owners, strict=True)
        if kept.setdefault(key, owner) is not owner
    ]
    if not repeated:
        return
    metadata["ownerReferences"] = list(kept.values())
    when = " after mutating admission happens" if after_admission else ""
    warn(
        f".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, "
        "and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
        + ", ".join(repeated)
    )
