"""One corpus of requests for two servers: what each answers, made comparable.

A scenario is a list of requests that build on each other, in a namespace of its own. What may differ between two
servers that are both right (uids, times, resource versions, tokens) is replaced by a word; everything else has to be
equal, unless the difference is listed with its reason in `known_differences.py`.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any, Protocol

import yaml

CORPUS = Path(__file__).parent.parent / "corpus"
PATIENCE, PAUSE = 60.0, 0.05
"""Seconds for controllers of the real server to do their work, and between two questions whether they have."""
SETTLING = 0.5
"""Seconds after the last write until the first answer to a read counts.

An answer that is expected at once may be older than the work of the controllers. If the embedded server never does that
work, it gives the same answer, and the difference would go unnoticed.
"""

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_AGE = re.compile(r"^\d+[smhd](\d+[smh])?$")
_REVISION = re.compile(r"(in record \(|current: |resourceVersion\\?\":\\?\")\d+")
_GENERATED = re.compile(r"(kube-api-access-)[a-z0-9]{5}")
_VERSIONS = {"resourceVersion", "expirationTimestamp", "continue", "token", "storageVersionHash"}


@dataclass(slots=True)
class Step:
    """One request. `$name` in texts stands for the namespace (`$ns`) or something saved from an earlier answer."""

    method: str
    path: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    save: Mapping[str, str] = field(default_factory=dict)  # name -> path in the answer, such as metadata.uid
    user: str = "admin"
    settle: bool = False  # repeat the request until controllers have done what the steps before cause
    wait: str = ""  # a key of `Target.wait_for`: wait first until that controller has observed the steps before


@dataclass(slots=True)
class Scenario:
    """Requests that build on each other."""

    name: str
    steps: list[Step]
    file: str = ""

    @property
    def id(self) -> str:
        """How pytest calls it."""
        return f"{self.file}: {self.name}"


@dataclass(slots=True)
class Answer:
    """What a server said, with its uids, times and versions as they were."""

    status: int
    body: Any
    warnings: list[str]
    content_type: str


class Target(Protocol):
    """A server to ask."""

    async def ask(self, method: str, path: str, body: bytes, headers: Mapping[str, str], user: str) -> Answer:
        """Send one request."""
        ...

    async def settle(self) -> None:
        """Let controllers finish, if the server can tell when they have."""
        ...

    async def wait_for(self, controller: str, namespace: str) -> None:
        """Wait until a controller has observed all writes so far: `definitions` or `garbage collector`."""
        ...

    async def open_namespace(self, namespace: str) -> None:
        """Wait until controllers have done their work for a new namespace."""
        ...


def scenarios() -> Iterator[Scenario]:
    """The whole corpus."""
    for path in sorted(CORPUS.glob("*.yaml")):
        for entry in yaml.safe_load(path.read_text()) or []:
            yield Scenario(entry["name"], [*_steps(entry["steps"])], path.stem)


def _steps(entries: Sequence[Mapping[str, Any]]) -> Iterator[Step]:
    wait = ""
    for entry in entries:
        if "wait" in entry:
            wait = entry["wait"]
        else:
            yield replace(_step(entry), wait=wait)
            wait = ""


def _step(entry: Mapping[str, Any]) -> Step:
    method, _, path = entry["request"].partition(" ")
    headers = {"User-Agent": "corpus/1", "Accept": entry.get("accept", "application/json")}
    body = entry.get("body")
    if body is not None:
        headers["Content-Type"] = entry.get("type", "application/json")
    headers.update(entry.get("headers") or {})
    return Step(
        method, path, body, headers, entry.get("save") or {}, entry.get("user", "admin"), entry.get("settle", False)
    )


async def play(
    scenario: Scenario, target: Target, namespace: str, is_expected: Callable[[int, Answer], bool] | None = None
) -> list[Answer]:
    """Send a scenario's requests and return what came back. The namespace is created first and removed after.

    With `is_expected`, requests that depend on the work of controllers are repeated until the answer is the expected
    one, or for PATIENCE. That is safe for reads, and for writes that were refused. A read whose first answer is the
    expected one is repeated once controllers have had the time to change it (SETTLING). Where the effect of a request
    depends on what a controller has observed before, repeating does not help: such a step is preceded by `wait`.
    """
    headers = {"Content-Type": "application/json", "User-Agent": "corpus/1"}
    made = json.dumps({"metadata": {"name": namespace}}).encode()
    await target.ask("POST", "/api/v1/namespaces", made, headers, "admin")
    written = time.monotonic()
    await target.open_namespace(namespace)
    saved = {"ns": namespace}
    answers = []
    try:
        for number, step in enumerate(scenario.steps):
            if step.wait:
                await target.wait_for(step.wait, namespace)
            if step.settle and is_expected is None:
                await target.settle()
            body = _fill(step.body, saved)
            raw = b"" if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
            deadline = time.monotonic() + PATIENCE
            settled = written + SETTLING if step.method == "GET" else 0.0
            while True:
                answer = await target.ask(step.method, _fill(step.path, saved), raw, step.headers, step.user)
                now = time.monotonic()
                can_be_repeated = step.settle and (step.method == "GET" or answer.status >= HTTPStatus.BAD_REQUEST)
                if is_expected is None or not can_be_repeated or now > deadline:
                    break
                if not is_expected(number, answer):
                    settled = 0.0  # an answer that becomes the expected one does so by the work of the controllers
                    await asyncio.sleep(PAUSE)  # the real server announces nothing here
                elif now < settled:
                    await asyncio.sleep(settled - now)  # see SETTLING
                else:
                    break
            if step.method != "GET":
                written = time.monotonic()
            answers.append(answer)
            for name, where in step.save.items():
                saved[name] = str(_lookup(answer.body, where))
    finally:
        await target.ask("DELETE", f"/api/v1/namespaces/{namespace}", b"", {"User-Agent": "corpus/1"}, "admin")
    return answers


def _fill(value: Any, saved: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return re.sub(r"\$(\w+)", lambda found: saved.get(found[1], found[0]), value)
    if isinstance(value, dict):
        return {_fill(key, saved): _fill(each, saved) for key, each in value.items()}
    if isinstance(value, list):
        return [_fill(each, saved) for each in value]
    return value


def _lookup(body: Any, where: str) -> Any:
    for part in where.split("."):
        body = body[int(part)] if part.isdigit() else (body or {}).get(part)
    return body


def comparable(answer: Answer, namespace: str) -> dict[str, Any]:
    """An answer without what may differ."""
    return {
        "status": answer.status,
        "content type": answer.content_type,
        "warnings": sorted(_text(each, namespace) for each in answer.warnings),
        "body": _plain(_without_periodic_bookmarks(answer.body), namespace),
    }


def _without_periodic_bookmarks(body: Any) -> Any:
    """Remove periodic bookmarks from the events of a watch; the bookmark after the initial events stays.

    The API server sends one about every second, so timing decides whether a watch of one second has one.
    """
    if not isinstance(body, list):
        return [] if _is_periodic_bookmark(body) else body
    events = [event for event in body if not _is_periodic_bookmark(event)]
    return events[0] if len(events) == 1 else events  # a stream of one event is read as one object (targets.py)


def _is_periodic_bookmark(event: Any) -> bool:
    is_bookmark = isinstance(event, dict) and event.get("type") == "BOOKMARK"
    return is_bookmark and "k8s.io/initial-events-end" not in json.dumps(event)


def _plain(value: Any, namespace: str, key: str = "") -> Any:
    if (key in _VERSIONS or key == "ca.crt") and isinstance(value, str):
        return f"<{key}>"
    if key == "causes" and isinstance(value, list):
        # The real server repeats causes that several of its checks find.
        unique = {json.dumps(_plain(each, namespace), sort_keys=True): None for each in value}
        return [json.loads(each) for each in unique]
    if isinstance(value, dict):
        return {_text(k, namespace): _plain(v, namespace, k) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(each, namespace) for each in value]
    return _text(value, namespace) if isinstance(value, str) else value


def _text(text: str, namespace: str) -> str:
    text = _TIME.sub("<time>", _UID.sub("<uid>", text)).replace(namespace, "<ns>")
    text = _GENERATED.sub(r"\1<generated>", text)
    text = _REVISION.sub(r"\1<revision>", text)
    return "<age>" if _AGE.match(text) else text


def differences(left: Any, right: Any, path: str = "") -> Iterator[str]:
    """Where two comparable values differ, a line each."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted({*left, *right}, key=str):
            if key not in left:
                yield f"{path}.{key}: missing, expected {json.dumps(right[key])[:300]}"
            elif key not in right:
                yield f"{path}.{key}: unexpected {json.dumps(left[key])[:300]}"
            else:
                yield from differences(left[key], right[key], f"{path}.{key}")
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for index, (mine, other) in enumerate(zip(left, right, strict=True)):
            yield from differences(mine, other, f"{path}[{index}]")
    elif left != right or type(left) is not type(right):
        yield f"{path}: {json.dumps(left)[:400]}\n      expected {json.dumps(right)[:400]}"
