"""The verbs of a Kubernetes API, for typed and untyped objects alike.

One `Client` is one user at one server. It keeps no objects: that is the cache's work. What always holds: nothing is
written as a whole object except at its creation; no call is made with an empty name, which would mean the whole
collection; an answer that is an error is raised as the class of `errors` that it is.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final, Literal, TypeVar

import msgspec

from nagaya.api.kind import Kind, Object
from nagaya.kube import patches
from nagaya.kube.calls import Calls, Purpose, Told, nothing
from nagaya.kube.decoding import (
    Listing,
    OnProblem,
    Undecodable,
    WatchEvent,
    is_status,
    read_event,
    read_object,
    read_page,
    read_replicas,
)
from nagaya.kube.errors import Expired
from nagaya.kube.key import Key
from nagaya.kube.lines import LineTooLong, lines
from nagaya.kube.patches import Apply, JsonPatch, Merge, Patch
from nagaya.kube.rate import RateLimit
from nagaya.kube.transport import NOTHING, Answer, AnswerLost, AnswerUnusable, Call, StreamAnswer, Transport
from nagaya.world import World

__all__ = ["Client", "Listing", "Propagation", "Undecodable", "WatchEvent"]

T = TypeVar("T", bound=Object)
Propagation = Literal["Background", "Foreground", "Orphan"]

REQUEST_TIMEOUT: Final = 30.0  # seconds; the server itself gives up after 60
WATCH_TIMEOUT: Final = 300.0  # seconds, up to twice that at random, so that watches do not all end at once
WATCH_GRACE: Final = 30.0  # seconds that a server may take longer than it was asked to
PAGE: Final = 500  # objects; keeps the event loop free between pages
LARGEST_PAGE: Final = 16 << 20  # bytes; of objects that are larger, fewer are asked for at once
MOST_TOO_MANY: Final = 2  # times as many objects as were asked for
LARGEST_LIST: Final = 1 << 30  # bytes of all pages
MOST_PAGES: Final = 2000
MOST_OBJECTS: Final = 1_000_000
MOST_REPEATED: Final = 1000  # events in a row that tell nothing new

_JSON: Final = "application/json"
_READ: Final = {"accept": _JSON}
_WRITE: Final = {"accept": _JSON, "content-type": _JSON}
_EMPTY_CONTENT: Final[Mapping[str, Any]] = {}


class Client:
    """One user at one server."""

    def __init__(
        self,
        transport: Transport,
        *,
        world: World,
        limit: RateLimit | None = None,
        guard: Callable[[], None] = nothing,
        field_manager: str = "nagaya",
        told: Told | None = None,
        most_objects: int = MOST_OBJECTS,
    ) -> None:
        """`guard` is called before every write and raises if this process may not write any more; `told` hears of every
        request, for metrics. A list may have `most_objects`."""
        self._calls = Calls(transport, world, limit, guard, told)
        self._world = world
        self.field_manager = field_manager
        self.most_objects = most_objects

    @property
    def transport(self) -> Transport:
        """The way to the server."""
        return self._calls.transport

    def unguarded(self) -> Client:
        """The same user without limit and guard: for leader election, which must neither wait nor ask itself."""
        other = Client(self.transport, world=self._world, field_manager=self.field_manager)
        other._calls = self._calls.unguarded()
        return other

    async def close(self) -> None:
        """Let go of every connection."""
        await self.transport.close()

    async def get(self, kind: Kind[T], namespace: str, name: str) -> T:
        """One object. Raises NotFound."""
        answer = await self._read("get", kind, _object_path(kind, namespace, name))
        return read_object(kind, answer.body)

    async def list(
        self,
        kind: Kind[T],
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        page: int = PAGE,
        on_problem: OnProblem | None = None,
    ) -> Listing[T]:
        """All objects, of all namespaces without one.

        The pages belong to one moment. If the server forgets that moment half-way, all is asked for again at once.
        """
        query = _selection(labels, fields)
        while page:
            try:
                return await self._list(kind, namespace, {**query, "limit": str(page)}, on_problem)
            except Expired:
                break
            except AnswerUnusable:
                if page == 1:
                    raise
                page = max(1, page // 10)  # objects may have 1.5 MiB each
        return await self._list(kind, namespace, query, on_problem)

    async def _list(
        self, kind: Kind[T], namespace: str, query: Mapping[str, str], on_problem: OnProblem | None
    ) -> Listing[T]:
        path, limit = kind.path(namespace), int(query.get("limit", 0))
        items: list[T] = []
        version, rest, size, seen = "", "", 0, set[str]()
        while True:
            asked = {**query, "continue": rest} if rest else query
            body = (await self._read("list", kind, path, asked)).body
            if limit and len(body) > LARGEST_PAGE:
                raise AnswerUnusable(Call("GET", path, asked), f"a page has more than {LARGEST_PAGE >> 20} MiB")
            # Small objects without end would take as much memory as large ones.
            found = read_page(kind, body, on_problem, most=limit * MOST_TOO_MANY or self.most_objects)
            items += found.items
            version, rest, size = version or found.resource_version, found.rest, size + len(body)
            if not rest:
                return Listing(items, version)
            if rest in seen or size > LARGEST_LIST or len(seen) > MOST_PAGES or len(items) > self.most_objects:
                why = f"the list of {kind} does not end ({len(seen)} pages, {size >> 20} MiB): the server is broken"
                raise AnswerLost(Call("GET", path), why)
            seen.add(rest)

    async def create(self, kind: Kind[T], obj: T | Mapping[str, Any], *, dry_run: bool = False) -> T:
        """Make an object. Raises AlreadyExists, Invalid and so on."""
        content = {**obj, "apiVersion": kind.api_version, "kind": kind.kind} if isinstance(obj, Mapping) else None
        if content is None:
            content = kind.content(obj)  # type: ignore[arg-type]  # a mapping is no T
        namespace = content.get("metadata", _EMPTY_CONTENT).get("namespace", "")
        _check_namespace(kind, namespace)
        answer = await self._write("POST", "create", kind, kind.path(namespace), content, self._changes(dry_run))
        return read_object(kind, answer.body)

    async def patch(
        self, kind: Kind[T], namespace: str, name: str, patch: Patch, *, subresource: str = "", dry_run: bool = False
    ) -> T:
        """Change an object; with Apply also make it. Raises NotFound, Conflict, Invalid and so on."""
        path = _object_path(kind, namespace, name, subresource)
        query = self._changes(dry_run)
        verb = "patch"
        content: Mapping[str, Any] | Sequence[Mapping[str, Any]]
        match patch:
            case Merge():
                content_type, content = patches.MERGE, _merge_content(patch)
            case JsonPatch():
                content_type, content = patches.JSON, patch.operations
            case Apply():
                verb = "apply"
                content_type, content = patches.APPLY, _apply_content(kind, namespace, name, patch.content)
                query["fieldManager"] = patch.manager or self.field_manager
                query["force"] = "true" if patch.force else "false"
        answer = await self._write("PATCH", verb, kind, path, content, query, content_type)
        return read_object(kind, answer.body)

    async def delete(
        self,
        kind: Kind[T],
        namespace: str,
        name: str,
        *,
        uid: str = "",
        resource_version: str = "",
        propagation: Propagation | None = None,
        grace_period: int | None = None,
        dry_run: bool = False,
    ) -> T | None:
        """Delete an object. Returns it as it is now if it lingers (finalizers, a grace period), None if it is gone.

        With a `uid` or a `resource_version` it raises Conflict if the object is another or has changed.
        """
        options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
        conditions = {"uid": uid, "resourceVersion": resource_version}
        if preconditions := {name: value for name, value in conditions.items() if value}:
            options["preconditions"] = preconditions
        if propagation is not None:
            options["propagationPolicy"] = propagation
        if grace_period is not None:
            options["gracePeriodSeconds"] = grace_period
        path = _object_path(kind, namespace, name)
        query = {"dryRun": "All"} if dry_run else {}
        answer = await self._write("DELETE", "delete", kind, path, options, query)
        if not answer.body:
            return None  # servers that are not Kubernetes' own may say nothing
        if is_status(answer.body):
            return None
        obj = read_object(kind, answer.body)
        metadata = obj.metadata
        # Some kinds answer with the object also when it is gone; a Namespace keeps its finalizers in its spec.
        held = metadata.finalizers or metadata.deletion_grace_period_seconds or str(kind) == "namespaces"
        lingers = metadata.deleting and held
        return obj if lingers else None

    async def watch(
        self,
        kind: Kind[T],
        namespace: str = "",
        *,
        resource_version: str,
        labels: str = "",
        fields: str = "",
        timeout: float | None = None,
        on_problem: OnProblem | None = None,
    ) -> AsyncGenerator[WatchEvent[T], None]:
        """Every change after a version, until the server ends the watch, which it does regularly: watch again from the
        last version seen. Close it with `contextlib.aclosing` when leaving it early.

        Raises Expired when the history is gone, NoAnswer when the connection breaks.
        """
        seconds = timeout or WATCH_TIMEOUT * (1 + self._world.random.random())
        query = _selection(labels, fields)
        query |= {"watch": "true", "allowWatchBookmarks": "true", "resourceVersion": resource_version}
        query["timeoutSeconds"] = str(max(1, round(seconds)))
        call = Call("GET", kind.path(namespace), query, _READ, None, REQUEST_TIMEOUT, seconds + WATCH_GRACE)
        until = self._world.clock.monotonic() + seconds + WATCH_GRACE
        last, repeated = 0, 0
        async with (
            self._calls.stream(call, Purpose("watch", str(kind))) as answer,
            aclosing(self._lines(answer, call, until)) as found,
        ):
            async for batch in found:
                for line in batch:
                    event = read_event(kind, line, call, on_problem)
                    if event is None:
                        continue
                    version = int(event.resource_version or 0)
                    last, repeated = max(last, version), 0 if version > last else repeated + 1
                    if repeated > MOST_REPEATED:
                        raise AnswerLost(call, f"the server repeats what it has told up to version {last}")
                    yield event

    async def _lines(self, answer: StreamAnswer, call: Call, until: float) -> AsyncGenerator[Sequence[bytes], None]:
        """The lines of a watch, which a server that drips bytes must not keep open for ever."""

        async def chunks() -> AsyncGenerator[bytes, None]:
            async for chunk in answer:
                if self._world.clock.monotonic() > until:
                    raise AnswerLost(call, "the server did not end the watch when it should have")
                yield chunk

        try:
            async with aclosing(chunks()) as source, aclosing(lines(source)) as found:
                async for batch in found:
                    yield batch
        except LineTooLong as error:
            raise AnswerUnusable(call, str(error)) from None

    async def scale(self, kind: Kind[Any], namespace: str, name: str) -> int:
        """How many replicas are wanted, by the scale subresource."""
        answer = await self._read("get", kind, _object_path(kind, namespace, name, "scale"))
        return read_replicas(kind, Key(namespace, name), answer.body)

    async def set_scale(self, kind: Kind[Any], namespace: str, name: str, replicas: int) -> int:
        """Want so many replicas. Returns what the server took."""
        path = _object_path(kind, namespace, name, "scale")
        content = {"spec": {"replicas": replicas}}
        answer = await self._write("PATCH", "patch", kind, path, content, self._changes(False), patches.MERGE)
        return read_replicas(kind, Key(namespace, name), answer.body)

    async def evict(
        self, namespace: str, pod: str, *, uid: str = "", grace_period: int | None = None, dry_run: bool = False
    ) -> None:
        """Ask a pod to go, as its disruption budgets allow. Raises TooManyRequests, at once, if they do not."""
        if not namespace or not pod:
            raise ValueError("an eviction needs the namespace and the name of a pod")
        options: dict[str, Any] = {}
        if uid:
            options["preconditions"] = {"uid": uid}
        if grace_period is not None:
            options["gracePeriodSeconds"] = grace_period
        if dry_run:
            options["dryRun"] = ["All"]
        content: dict[str, Any] = {"apiVersion": "policy/v1", "kind": "Eviction"}
        content["metadata"] = {"namespace": namespace, "name": pod}
        if options:
            content["deleteOptions"] = options
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}/eviction"
        call = Call("POST", path, {}, _WRITE, msgspec.json.encode(content), REQUEST_TIMEOUT)
        await self._calls.send(call, Purpose("evict", "pods", writes=True, patient=False))

    async def raw(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] = NOTHING,
        content: Mapping[str, Any] | bytes | None = None,
        content_type: str = _JSON,
        accept: str = _JSON,
        timeout: float = REQUEST_TIMEOUT,
    ) -> Answer:
        """Anything else. Returns the answer as it is if it is a good one; everything but GET and HEAD is a write."""
        body = msgspec.json.encode(content) if isinstance(content, Mapping) else content
        headers = {"accept": accept} if body is None else {"accept": accept, "content-type": content_type}
        purpose = Purpose(method.lower(), "", writes=method not in ("GET", "HEAD"))
        return await self._calls.send(Call(method, path, query, headers, body, timeout), purpose)

    async def _read(self, verb: str, kind: Kind[Any], path: str, query: Mapping[str, str] = NOTHING) -> Answer:
        return await self._calls.send(Call("GET", path, query, _READ, None, REQUEST_TIMEOUT), Purpose(verb, str(kind)))

    async def _write(
        self,
        method: str,
        verb: str,
        kind: Kind[Any],
        path: str,
        content: Any,
        query: Mapping[str, str],
        content_type: str = _JSON,
    ) -> Answer:
        headers = _WRITE if content_type == _JSON else {"accept": _JSON, "content-type": content_type}
        call = Call(method, path, query, headers, msgspec.json.encode(content), REQUEST_TIMEOUT)
        return await self._calls.send(call, Purpose(verb, str(kind), writes=True))

    def _changes(self, dry_run: bool) -> dict[str, str]:
        query = {"fieldManager": self.field_manager}
        if dry_run:
            query["dryRun"] = "All"
        return query


def _object_path(kind: Kind[Any], namespace: str, name: str, subresource: str = "") -> str:
    if not name:
        raise ValueError(f"an object of {kind} is meant, but it has no name")
    _check_namespace(kind, namespace)
    return kind.path(namespace, name, subresource)


def _check_namespace(kind: Kind[Any], namespace: str) -> None:
    # The server would answer 404, which would be taken for "no such object".
    if kind.namespaced and not namespace:
        raise ValueError(f"objects of {kind} are in namespaces, but none is named")


def _selection(labels: str, fields: str) -> dict[str, str]:
    selectors = {"labelSelector": labels, "fieldSelector": fields}
    return {name: value for name, value in selectors.items() if value}


def _merge_content(patch: Merge) -> Mapping[str, Any]:
    if patch.resource_version is None:
        return patch.content
    metadata = {**patch.content.get("metadata", _EMPTY_CONTENT), "resourceVersion": patch.resource_version}
    return {**patch.content, "metadata": metadata}


def _apply_content(kind: Kind[Any], namespace: str, name: str, content: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = {**content.get("metadata", _EMPTY_CONTENT), "name": name}
    if kind.namespaced:
        metadata["namespace"] = namespace
    return {**content, "apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
