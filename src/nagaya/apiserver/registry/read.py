"""Reading objects: one, or a collection page by page.

Everything is answered from memory at one revision. The first page fixes it; the `continue` token carries it along with
the key to go on after, so that all pages together are one consistent snapshot. Once the history behind a token is
compacted the client is told so (410) and handed a token with which it can go on at the current revision, if it does not
mind.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from nagaya.apiserver.meta import base64text, gostring, jsontext, status
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.resource import Resource
from nagaya.apiserver.registry.selection import Selection
from nagaya.apiserver.storage import Compacted, FutureRevision, Record, Store
from nagaya.apiserver.web.options import ListOptions

_TOKEN_VERSION = "meta.k8s.io/v1"  # noqa: S105  # names the form of the token, keeps no secret
CONTINUE_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


def get(backend: Backend, resource: Resource, namespace: str, name: str, version: str = "") -> Record:
    """The record of one object, not older than `version`. Raises 404 if there is none."""
    if version not in ("", "0"):
        _not_older(backend.store, parse_version(version, server_error=True))
    record = backend.store.get(resource.table, resource.key(namespace, name))
    if record is None:
        raise status.not_found(resource.group_resource, name)
    return record


def parse_version(text: str, *, server_error: bool = False) -> int:
    """A resourceVersion that a client sent. What is not a number is refused in the real server's words."""
    if not text:
        return 0
    if text.isascii() and text.isdigit() and len(text) < 20:
        return int(text)
    problem = f"strconv.ParseUint: parsing {gostring.quote(text)}: invalid syntax"
    message = f"resourceVersion: Invalid value: {gostring.quote(text)}: {problem}"
    if server_error:
        raise ApiError(500, "", message)
    raise status.bad_request(f"invalid resource version: {message}")


def _not_older(store: Store, version: int) -> None:
    if version > store.revision:
        raise status.too_large_resource_version(version, store.revision)


@dataclass(slots=True)
class Page:
    """A part of a collection. `objects` is None when the stored bytes can be sent as they are."""

    revision: int
    records: Sequence[Record]
    objects: Sequence[JsonObject] | None = None
    continue_token: str = ""
    remaining: int | None = None

    def metadata(self) -> JsonObject:
        """The metadata of the list object."""
        metadata: JsonObject = {"resourceVersion": str(self.revision)}
        if self.continue_token:
            metadata["continue"] = self.continue_token
        if self.remaining:
            metadata["remainingItemCount"] = self.remaining
        return metadata


async def list_page(
    backend: Backend, resource: Resource, namespace: str, options: ListOptions, selection: Selection
) -> Page:
    """The objects that are selected, in key order, at the revision the options ask for."""
    prefix = f"{namespace}/" if resource.namespaced and namespace else ""
    position = _position(backend.store, options, prefix)
    try:
        return await _collect(backend.store, resource, prefix, position, options.limit, selection)
    except Compacted:
        if options.continue_token and position.after is not None:
            raise status.expired(CONTINUE_EXPIRED, _token(-1, position.after, prefix)) from None
        raise status.expired("The resourceVersion for the provided list is too old.") from None
    except FutureRevision as future:
        assert position.revision is not None
        raise status.too_large_resource_version(position.revision, future.current) from None


@dataclass(slots=True)
class _Position:
    """Where a page starts: at which revision (None: the current one) and after which key."""

    revision: int | None = None
    after: str | None = None


def _position(store: Store, options: ListOptions, prefix: str) -> _Position:
    if options.continue_token:
        revision, after = _read_token(options.continue_token, prefix)
        if options.resource_version not in ("", "0"):
            raise status.bad_request("specifying resource version is not allowed when using continue")
        return _Position(None if revision < 0 else revision, after)
    version = parse_version(options.resource_version)
    if version == 0:
        return _Position()
    if options.resource_version_match == "Exact" or (options.limit > 0 and not options.resource_version_match):
        return _Position(version)
    _not_older(store, version)
    return _Position()


async def _collect(
    store: Store, resource: Resource, prefix: str, position: _Position, limit: int, selection: Selection
) -> Page:
    snapshot = store.list(resource.table, prefix, start_after=position.after, revision=position.revision)
    candidates = snapshot.records
    kept: list[Record] = []
    objects: list[JsonObject] | None = None
    if selection.by_object:
        # Selected by something inside the object: it has to be decoded, and is then served from what was decoded.
        candidates = selection.of(candidates)
        decoded = await resource.codec.decode(candidates)
        objects = []
        for record, obj in zip(candidates, decoded, strict=True):
            if selection.matches_object(obj):
                kept.append(record)
                objects.append(obj)
    else:
        kept = selection.of(candidates)
    page = Page(snapshot.revision, kept, objects)
    if 0 < limit < len(kept):
        page.records = kept[:limit]
        page.objects = None if objects is None else objects[:limit]
        page.continue_token = _token(snapshot.revision, page.records[-1].key + "\0", prefix)
        if selection.is_everything:
            page.remaining = len(kept) - limit
    if page.objects is None and not all(resource.codec.is_direct(record) for record in page.records):
        page.objects = await resource.codec.decode(page.records)
    return page


def _token(revision: int, start: str, prefix: str) -> str:
    """A token to go on from the key `start` (inclusive), which is written relative to the prefix."""
    text = orjson.dumps({"v": _TOKEN_VERSION, "rv": revision, "start": start.removeprefix(prefix)})
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def _read_token(token: str, prefix: str) -> tuple[int, str]:
    """The revision and the key to start from. Raises 400 for a token that is not one of ours."""

    def refuse(why: str) -> ApiError:
        return status.bad_request(f"invalid continue token: continue key is not valid{why}")

    try:
        content, _ = jsontext.parse(base64text.decode_unpadded(token))
    except (ValueError, jsontext.JsonError) as error:
        raise refuse(f": {error}") from None
    if not isinstance(content, dict) or content.get("v") != _TOKEN_VERSION:
        version = content.get("v", "") if isinstance(content, dict) else ""
        raise refuse(f": server does not recognize this encoded version {version}")
    revision, start = content.get("rv"), content.get("start")
    if not isinstance(revision, int) or revision == 0:
        raise refuse(f": incorrect encoded start resourceVersion (version {_TOKEN_VERSION})")
    if not isinstance(start, str) or not start:
        raise refuse(f": encoded start key empty (version {_TOKEN_VERSION})")
    if ".." in start.split("/") or "//" in start:
        raise refuse(f": {start}")
    return revision, prefix + start.lstrip("/")
