"""An API server of a few lines, held in memory and reached as a transport, that fails whenever a test wants it to.

It does what the cache and the client rely on, to the letter of `tests/unit/kube/test_double.py`, where the embedded
server passes the same tests: versions that only grow, lists of one moment, watches that tell every change in order,
deletion held up by finalizers. Everything else is left out. Unlike a real server it can be made to forget its history,
drop connections, lag behind, lose answers, and not answer at all.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from nagaya.kube.client import Client
from nagaya.kube.transport import Answer, AnswerLost, Call, StreamAnswer, Unreachable
from nagaya.world import World

Place = tuple[str, str, str]
"""Collection, namespace, name."""


@dataclass(slots=True)
class Event:
    """Something that happened."""

    revision: int
    type: str
    collection: str
    object: dict[str, Any]
    before: dict[str, Any] | None


@dataclass(slots=True)
class Stream:
    """A watch that somebody has open."""

    status: int
    headers: Mapping[str, str]
    chunks: asyncio.Queue[bytes | Exception | None] = field(default_factory=asyncio.Queue)
    failure: bytes = b""
    late: list[bytes] = field(default_factory=list)
    due: float = 0.0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            chunk = await self.chunks.get()
            if chunk is None:
                return
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk

    async def body(self) -> bytes:
        return self.failure


class FakeServer:
    """Objects, their history, and the means to go wrong."""

    def __init__(self) -> None:
        self.revision = 100
        self.objects: dict[Place, dict[str, Any]] = {}
        self.history: list[Event] = []
        self.cut = 100
        """Watches from before this version are answered 410."""
        self.down = False
        self.hung = False
        self.unauthorized = False
        self.lose_next_answer = False
        self.lag = 0.0
        """Seconds by which watches are behind."""
        self.slow = 0.0
        """Seconds that an answer takes after the call has had its effect."""
        self.calls: list[str] = []
        self.closed = 0
        self._streams: dict[int, tuple[Call, Stream, str, str, dict[str, str]]] = {}
        self._numbers = 0

    def client(self, world: World, **more: Any) -> Client:
        """A client of this server."""
        return Client(self, world=world, **more)

    # What a transport does

    async def send(self, call: Call) -> Answer:
        """Make a call."""
        await self._reach(call)
        status, content = self._answer(call)
        if self.lose_next_answer and call.method != "GET":
            self.lose_next_answer = False
            raise AnswerLost(call, "the connection was reset")
        if self.slow:
            await asyncio.sleep(self.slow)
        return Answer(status, {"content-type": "application/json"}, json.dumps(content).encode())

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[StreamAnswer]:
        """Open a watch."""
        await self._reach(call)
        collection, namespace, _, _ = _parse(call.path)
        begin = int(call.query["resourceVersion"])
        if begin < self.cut:
            status = _status(410, "Expired", f"too old resource version: {begin} ({self.cut})")
            yield Stream(410, {}, failure=json.dumps(status).encode())
            return
        stream = Stream(200, {})
        self._numbers += 1
        number = self._numbers
        labels = _selector(call.query.get("labelSelector", ""))
        self._streams[number] = (call, stream, collection, namespace, labels)
        for event in self.history:
            if event.revision > begin:
                self._deliver(event, number)
        try:
            yield stream
        finally:
            self._streams.pop(number, None)

    async def close(self) -> None:
        """Let go."""
        self.closed += 1
        self.drop_watches()

    # What goes wrong

    def drop_watches(self) -> None:
        """Break all connections."""
        for call, stream, *_ in [*self._streams.values()]:
            stream.chunks.put_nowait(AnswerLost(call, "the connection was reset"))
        self._streams.clear()

    def end_watches(self) -> None:
        """End all watches as a server does after their time."""
        for _, stream, *_ in [*self._streams.values()]:
            stream.chunks.put_nowait(None)
        self._streams.clear()

    def forget_history(self) -> None:
        """Keep no events from before now."""
        self.cut = self.revision
        self.history.clear()

    def bookmark(self) -> None:
        """Tell all watches how far they are."""
        line = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(self.revision)}}}
        for number in self._streams:
            self._send_line(line, number)

    # What others do

    def put(self, collection: str, namespace: str, name: str, **content: Any) -> dict[str, Any]:
        """Create or change an object as some other client does."""
        place = (collection, namespace, name)
        before = self.objects.get(place)
        self.revision += 1
        metadata = {
            **(before["metadata"] if before else {"uid": str(uuid.uuid4())}),
            **content.pop("metadata", {}),
            "name": name,
            "namespace": namespace,
            "resourceVersion": str(self.revision),
        }
        obj = {**(before or {}), **content, "metadata": metadata}
        return self._record("MODIFIED" if before else "ADDED", place, obj, before)

    def remove(self, collection: str, namespace: str, name: str) -> None:
        """Delete an object as some other client does, at once."""
        place = (collection, namespace, name)
        before = self.objects.pop(place)
        self.revision += 1
        gone = {**before, "metadata": {**before["metadata"], "resourceVersion": str(self.revision)}}
        self._record("DELETED", place, gone, before)

    # How it works

    async def _reach(self, call: Call) -> None:
        self.calls.append(f"{'WATCH' if 'watch' in call.query else call.method} {call.path}")
        await asyncio.sleep(0)
        if self.down:
            raise Unreachable(call, "connection refused")
        if self.hung:
            await asyncio.sleep(call.timeout or 3600.0)
            raise AnswerLost(call, "no answer in time")

    def _answer(self, call: Call) -> tuple[int, dict[str, Any]]:
        if self.unauthorized:
            return 401, _status(401, "Unauthorized", "Unauthorized")
        if call.path == "/":
            return 200, {"paths": []}
        collection, namespace, name, _ = _parse(call.path)
        content = json.loads(call.body) if call.body else {}
        if call.method == "POST":
            return self._create(collection, namespace, content)
        if not name:
            return 200, self._list(collection, namespace, call.query)
        place = (collection, namespace, name)
        obj = self.objects.get(place)
        if obj is None:
            return 404, _status(404, "NotFound", f'{collection.split("/")[-1]} "{name}" not found')
        if call.method == "PATCH":
            return self._merge(place, obj, content)
        if call.method == "DELETE":
            return self._delete(place, obj, content)
        return 200, obj

    def _list(self, collection: str, namespace: str, query: Mapping[str, str]) -> dict[str, Any]:
        labels = _selector(query.get("labelSelector", ""))
        items = [
            obj
            for (found, place, _), obj in sorted(self.objects.items())
            if found == collection and namespace in ("", place) and _matches(obj, labels)
        ]
        return {"kind": "List", "metadata": {"resourceVersion": str(self.revision)}, "items": items}

    def _create(self, collection: str, namespace: str, content: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        name = content["metadata"]["name"]
        if (collection, namespace, name) in self.objects:
            return 409, _status(409, "AlreadyExists", f'{collection.split("/")[-1]} "{name}" already exists')
        return 201, self.put(collection, namespace, name, **content)

    def _merge(self, place: Place, obj: dict[str, Any], content: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        told = content.get("metadata", {}).get("resourceVersion")
        if told is not None and told != obj["metadata"]["resourceVersion"]:
            return 409, _status(409, "Conflict", "the object has been modified")
        merged = _merged(obj, content)
        # What is in the history stays as it was.
        merged["metadata"] = {**merged["metadata"], "resourceVersion": obj["metadata"]["resourceVersion"]}
        if merged == obj:
            return 200, obj
        if merged["metadata"].get("deletionTimestamp") and not merged["metadata"].get("finalizers"):
            self.remove(*place)
            return 200, merged
        self.revision += 1
        merged["metadata"]["resourceVersion"] = str(self.revision)
        return 200, self._record("MODIFIED", place, merged, obj)

    def _delete(self, place: Place, obj: dict[str, Any], options: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        metadata = obj["metadata"]
        uid = options.get("preconditions", {}).get("uid")
        if uid and uid != metadata["uid"]:
            why = f"the UID in the precondition ({uid}) does not match the UID in record ({metadata['uid']})"
            return 409, _status(409, "Conflict", f"Operation cannot be fulfilled: {why}")
        if metadata.get("finalizers"):
            if metadata.get("deletionTimestamp"):
                return 200, obj
            mark = {"deletionTimestamp": "2026-11-01T12:00:00Z", "deletionGracePeriodSeconds": 0}
            return 200, self.put(*place, metadata=mark)
        self.remove(*place)
        return 200, _status(200, "", "")

    def _record(self, type: str, place: Place, obj: dict[str, Any], before: dict[str, Any] | None) -> dict[str, Any]:
        if type != "DELETED":
            self.objects[place] = obj
        event = Event(self.revision, type, place[0], obj, before)
        self.history.append(event)
        for number in [*self._streams]:
            self._deliver(event, number)
        return obj

    def _deliver(self, event: Event, number: int) -> None:
        _, _, collection, namespace, labels = self._streams[number]
        if event.collection != collection or namespace not in ("", event.object["metadata"]["namespace"]):
            return
        now = event.type != "DELETED" and _matches(event.object, labels)
        then = event.before is not None and _matches(event.before, labels)
        if not now and not then:
            return
        type = "DELETED" if not now else "MODIFIED" if then else "ADDED"
        self._send_line({"type": type, "object": event.object}, number)

    def _send_line(self, content: dict[str, Any], number: int) -> None:
        line = json.dumps(content).encode() + b"\n"
        stream = self._streams[number][1]
        if not self.lag and not stream.late:
            stream.chunks.put_nowait(line)
            return
        # Lines overtake no others, however the lag changes.
        loop = asyncio.get_running_loop()
        stream.due = max(stream.due, loop.time() + self.lag)
        stream.late.append(line)
        loop.call_at(stream.due, self._arrive, number)

    def _arrive(self, number: int) -> None:
        if number in self._streams:
            stream = self._streams[number][1]
            stream.chunks.put_nowait(stream.late.pop(0))


def _parse(path: str) -> tuple[str, str, str, str]:
    parts = path.strip("/").split("/")
    root, rest = (parts[:2], parts[2:]) if parts[0] == "api" else (parts[:3], parts[3:])
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    rest += ["", ""]
    return "/".join([*root, rest[0]]), namespace, rest[1], rest[2]


def _selector(text: str) -> dict[str, str]:
    return {part.partition("=")[0]: part.partition("=")[2] for part in text.split(",") if part}


def _matches(obj: dict[str, Any], labels: dict[str, str]) -> bool:
    present = obj["metadata"].get("labels") or {}
    return all(name in present and value in ("", present[name]) for name, value in labels.items())


def _merged(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = _merged(result.get(name), value)
    return result


def _status(code: int, reason: str, message: str) -> dict[str, Any]:
    outcome = "Failure" if code >= 400 else "Success"
    return {"apiVersion": "v1", "kind": "Status", "status": outcome, "code": code, "reason": reason, "message": message}
