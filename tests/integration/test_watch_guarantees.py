"""What a watch promises, held while the server is killed and started again and clients come and go.

The promises are those that etcd lists for watches, and clients of Kubernetes rely on:

- ordered: events come in the order of their versions;
- unique: no event comes twice;
- atomic: the events of one write come together or not at all (every write here is one object);
- reliable: no event between two that are seen is left out;
- resumable: a broken watch goes on from the last version it has seen, whatever happened in between;
- bookmarkable: a bookmark says that everything up to its version has been sent;
- filtered: who selects sees exactly what enters, changes in and leaves the selection.

One process is the server, this one the clients: writers who remember what they were told, watchers who remember what
they saw.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPSConnection
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from support.running_server import RunningServer

COLLECTION = "/api/v1/namespaces/default/configmaps"
SELECTOR = "colour%3Dred"
NAMES = ["a", "b", "c", "d"]
COLOURS = ["red", "blue", None]


@dataclass(slots=True)
class Written:
    """A write that the server has acknowledged."""

    version: int
    kind: str  # ADDED, MODIFIED, DELETED
    name: str
    colour: str | None
    before: str | None  # the colour it had


@dataclass(slots=True)
class Seen:
    """An event."""

    version: int
    kind: str
    name: str
    content: dict[str, Any]


class Client:
    """One connection at a time, which is made again when it breaks."""

    def __init__(self, server: RunningServer) -> None:
        self._server = server
        self._context: ssl.SSLContext = server.ssl_context()
        self._connection: HTTPSConnection | None = None

    def ask(self, method: str, path: str, body: object = None, kind: str = "application/json") -> tuple[int, Any]:
        """A request whose answer is read whole."""
        if self._connection is None:
            self._connection = self.connect()
        content = None if body is None else json.dumps(body)
        self._connection.request(method, path, content, {"Content-Type": kind})
        response = self._connection.getresponse()
        return response.status, json.loads(response.read())

    def connect(self, timeout: float = 60.0) -> HTTPSConnection:
        return HTTPSConnection("127.0.0.1", self._server.port, timeout=timeout, context=self._context)

    def hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@dataclass(slots=True)
class Watcher:
    """A client that watches, remembers, and goes on from where it was."""

    client: Client
    since: int
    selector: str = ""
    last: int = 0
    seen: list[Seen] = field(default_factory=list)
    _connection: HTTPSConnection | None = None
    _stream: Any = None

    def open(self) -> None:
        """Watch from the last version that was seen."""
        self.last = self.last or self.since
        self._connection = self.client.connect()
        query = f"?watch=1&allowWatchBookmarks=true&resourceVersion={self.last}&timeoutSeconds=30"
        self._connection.request(
            "GET", COLLECTION + query + (f"&labelSelector={self.selector}" if self.selector else "")
        )
        self._stream = self._connection.getresponse()
        assert self._stream.status == 200, self._stream.read()

    def read_until(self, version: int) -> None:
        """Take events until nothing up to a version can be missing: that event, a later one, or a bookmark of it."""
        if self._stream is None:
            self.open()
        while self.last < version:
            line = self._stream.readline()
            if not line:  # ended in order: go on
                self.close()
                self.open()
                continue
            self._take(json.loads(line))

    def drain(self) -> None:
        """Take what a dying server has still sent, and close."""
        if self._stream is None:
            return
        try:
            while line := self._stream.readline():
                if line.endswith(b"\n"):
                    self._take(json.loads(line))
        except (OSError, HTTPException):
            pass
        self.close()

    def _take(self, event: dict[str, Any]) -> None:
        content = event["object"]
        version = int(content["metadata"]["resourceVersion"])
        assert event["type"] != "ERROR", event
        if event["type"] == "BOOKMARK":
            assert version >= self.last, "a bookmark goes back"
        else:
            assert version > self.last, f"ordered and unique: {event['type']} at {version} after {self.last}"
            self.seen.append(Seen(version, event["type"], content["metadata"]["name"], content))
        self.last = version

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = self._stream = None


def expected(written: list[Written], since: int, selector: bool) -> Iterator[tuple[int, str, str]]:
    """What a watcher has to see of the writes, in order."""
    for write in written:
        if write.version <= since:
            continue
        if not selector:
            yield write.version, write.kind, write.name
            continue
        was, now = write.before == "red", write.colour == "red" and write.kind != "DELETED"
        if was or now:
            yield write.version, "MODIFIED" if was and now else "ADDED" if now else "DELETED", write.name


class Watching(RuleBasedStateMachine):
    """Writers, watchers and a server that dies, in any order."""

    server: RunningServer

    @initialize()
    def begin(self) -> None:
        self.writer = Client(self.server)
        self.written: list[Written] = []
        self.colours: dict[str, str | None] = {}
        self.versions: dict[str, int] = {}
        self.watchers: list[Watcher] = []
        for name in NAMES:
            self.writer.ask("DELETE", f"{COLLECTION}/{name}")
        self.start_version = self.version()
        self.watchers.append(Watcher(Client(self.server), self.start_version))
        self.watchers.append(Watcher(Client(self.server), self.start_version, SELECTOR))
        for watcher in self.watchers:
            watcher.open()

    def version(self) -> int:
        status, found = self.writer.ask("GET", f"{COLLECTION}?limit=1")
        assert status == 200
        return int(found["metadata"]["resourceVersion"])

    @property
    def newest(self) -> int:
        return self.written[-1].version if self.written else self.start_version

    @rule(name=st.sampled_from(NAMES), colour=st.sampled_from(COLOURS))
    def write(self, name: str, colour: str | None) -> None:
        """Create, change or recolour an object."""
        labels = {"colour": colour}
        before = self.colours.get(name)
        if name in self.colours:
            body = {"metadata": {"labels": labels}, "data": {"number": str(len(self.written))}}
            status, answer = self.writer.ask("PATCH", f"{COLLECTION}/{name}", body, "application/merge-patch+json")
            kind = "MODIFIED"
        else:
            body = {"metadata": {"name": name, "labels": {} if colour is None else labels}}
            status, answer = self.writer.ask("POST", COLLECTION, body)
            kind = "ADDED"
        assert status in (200, 201), answer
        version = int(answer["metadata"]["resourceVersion"])
        self.written.append(Written(version, kind, name, colour, before))
        self.colours[name], self.versions[name] = colour, version

    @rule(name=st.sampled_from(NAMES))
    def delete(self, name: str) -> None:
        if name not in self.colours:
            return
        status, answer = self.writer.ask("DELETE", f"{COLLECTION}/{name}")
        assert status == 200, answer
        before = self.colours.pop(name)
        # The version of a deletion is told by the watch only; the next one is ours, because nobody else writes here.
        self.written.append(Written(self.version_of_deletion(name), "DELETED", name, before, before))

    def version_of_deletion(self, name: str) -> int:
        """Found by an independent watch of that one object."""
        probe = self.writer.connect()
        query = (
            f"?watch=1&resourceVersion={self.versions.pop(name)}&fieldSelector=metadata.name%3D{name}&timeoutSeconds=60"
        )
        probe.request("GET", COLLECTION + query)
        response = probe.getresponse()
        while True:
            event = json.loads(response.readline())
            if event["type"] == "DELETED":
                probe.close()
                return int(event["object"]["metadata"]["resourceVersion"])

    @rule()
    def kill_the_server(self) -> None:
        """Pull the plug; everyone connects again afterwards."""
        with self.server.away():
            for watcher in self.watchers:
                watcher.drain()
            self.writer.hang_up()

    @rule(which=st.integers(0, 5))
    def break_a_watch(self, which: int) -> None:
        self.watchers[which % len(self.watchers)].close()

    @rule(back=st.integers(0, 6), selector=st.sampled_from(["", SELECTOR]))
    def watch_from_the_past(self, back: int, selector: str) -> None:
        """Somebody comes with an older version, and gets all that happened since."""
        if len(self.watchers) >= 6:
            return
        known = [self.start_version, *(write.version for write in self.written)]
        self.watchers.append(Watcher(Client(self.server), known[-1 - min(back, len(known) - 1)], selector))

    @rule(selector=st.sampled_from(["", SELECTOR]))
    def list_then_watch(self, selector: str) -> None:
        """A list shows exactly what is there, and the watch after it goes on from there."""
        status, found = self.writer.ask("GET", f"{COLLECTION}?labelSelector={selector or 'test%21%3Dx'}")
        assert status == 200
        names = {item["metadata"]["name"] for item in found["items"]} & set(NAMES)
        assert names == {name for name, colour in self.colours.items() if not selector or colour == "red"}
        if len(self.watchers) < 6:
            version = int(found["metadata"]["resourceVersion"])
            self.watchers.append(Watcher(Client(self.server), version, selector))

    @rule(which=st.integers(0, 5))
    def read(self, which: int) -> None:
        """Catch up; a selecting watcher is sure of it by a bookmark or by the newest event that concerns it."""
        self.check(self.watchers[which % len(self.watchers)])

    def check(self, watcher: Watcher) -> None:
        due = list(expected(self.written, watcher.since, bool(watcher.selector)))
        if due:
            watcher.read_until(due[-1][0])
        seen = [(event.version, event.kind, event.name) for event in watcher.seen]
        assert seen == due, "reliable, resumable and filtered"

    @invariant()
    def acknowledged_writes_are_in_order(self) -> None:
        versions = [write.version for write in getattr(self, "written", [])]
        assert versions == sorted(set(versions))

    def teardown(self) -> None:
        for watcher in getattr(self, "watchers", []):
            self.check(watcher)
            watcher.close()
        if hasattr(self, "writer"):
            self.writer.hang_up()


@pytest.fixture(scope="module")
def own_server() -> Iterator[RunningServer]:
    """A server that may be killed."""
    with RunningServer() as server:
        yield server


@pytest.mark.long("kills and starts the server several times under load")
def test_watches_keep_their_promises(own_server: RunningServer) -> None:
    machine = type("Machine", (Watching,), {"server": own_server})
    bounded = settings(
        max_examples=5,
        stateful_step_count=30,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=bounded)


def test_a_bookmark_covers_everything_before_it(own_server: RunningServer) -> None:
    """A stream that begins with what is there marks the end of it, and every event after that is newer."""
    client = Client(own_server)
    for number in range(20):
        client.ask("POST", COLLECTION, {"metadata": {"name": f"bookmark-{number}", "labels": {"set": "bookmark"}}})
    connection = client.connect()
    query = (
        "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=10"
    )
    connection.request("GET", f"{COLLECTION}?{query}&labelSelector=set%3Dbookmark")
    stream = connection.getresponse()
    events = [json.loads(stream.readline()) for _ in range(21)]
    assert [event["type"] for event in events] == ["ADDED"] * 20 + ["BOOKMARK"]
    mark = events[-1]["object"]["metadata"]
    assert mark["annotations"] == {"k8s.io/initial-events-end": "true"}
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert max(versions) == versions[-1]
    client.ask("DELETE", f"{COLLECTION}?labelSelector=set%3Dbookmark")
    gone = [json.loads(stream.readline()) for _ in range(20)]
    assert [event["type"] for event in gone] == ["DELETED"] * 20
    later = [int(event["object"]["metadata"]["resourceVersion"]) for event in gone]
    assert later == sorted(set(later))
    assert later[0] > int(mark["resourceVersion"])
    connection.close()
    client.hang_up()
