"""Plays the recorded cases of one file against a fresh lab, in their order, and says of each where the answer differs.

Cases depend on those before them, and on some that were not recorded: what happened unseen stands in the module of the
file (`of_01`, ...). It may have
- `begin(lab)`: what there was before the first case,
- `BEFORE`: what happened unseen before a case, by its number,
- `WHILE_RUNNING`: cases that came while a task ran. Before all others, tasks are waited for.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import importlib.util
import re
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any
from urllib.parse import quote, quote_plus, unquote

import orjson

from nagaya.simulators.proxmox.failure import Unanswered
from nagaya.simulators.proxmox.request import Answer, Request
from nagaya.simulators.proxmox.web.message import parse, redirected, written
from support.proxmox_lab import ProxmoxLab, proxmox_lab
from support.proxmox_recorded import case as recorded
from support.proxmox_recorded.case import Case
from support.proxmox_recorded.comparison import SHORTENED, differences, first_differences, masked, salvaged
from support.proxmox_recorded.credentials import headers
from support.proxmox_recorded.unseen import Before
from support.virtual_run import run

_PAIR = re.compile(r"&(?=[A-Za-z][\w.\-\[\]]*=)")
_UPID = re.compile(r"UPID:[^:/\s\"]+:[0-9A-F]{8}:[0-9A-F]{8,9}:[0-9A-F]{8}:[^:\s\"]+:[^:\s\"]*:[^:\s\"]+:")
_REPEATED = re.compile(r"<(\d+) times the letter (\w)>")
_FILE = re.compile(r"<(?:(\d+) (byte|MiB) )?file named (.+?)(?: that is no qcow2)?>")
_NO_ANSWER = "(no answer"
_NOTICEABLE = 1.0
_BETWEEN = 0.04
"""Seconds from one request of a case to the next."""
_TOLERANCE = 1.5


@dataclass(slots=True)
class Playing:
    """One file while it is played."""

    lab: ProxmoxLab
    unseen: ModuleType | None
    upids: dict[str, str] = field(default_factory=dict)
    """Recorded UPID -> ours."""

    async def play(self, case: Case) -> list[str]:
        """Where the answers to a case differ."""
        before: Before | None = getattr(self.unseen, "BEFORE", {}).get(case.id)
        if case.id not in getattr(self.unseen, "WHILE_RUNNING", ()):
            await self._idle()
        found = await self.prepared(before) if before is not None else []
        for number, step in enumerate(case.steps):
            if number:
                await asyncio.sleep(_BETWEEN)
            try:
                found += await self._step(case, step)
            except Exception:
                found.append("".join(traceback.format_exc(limit=-4)))
        return found

    async def prepared(self, before: Before) -> list[str]:
        """Let happen what was unseen; what goes wrong with it, in words."""
        try:
            await before(self.lab)
        except Exception:
            return ["unseen: " + "".join(traceback.format_exc(limit=-2))]
        return []

    async def _idle(self) -> None:
        workers = [task.worker for task in self.lab.emulator.tasks.known.values() if task.worker is not None]
        if pending := [worker for worker in workers if not worker.done()]:
            await asyncio.wait(pending)

    async def _step(self, case: Case, step: dict[str, Any]) -> list[str]:
        if "status" not in step:
            return await self._together(case, step)
        if step.get("remark", "").startswith("by http:"):
            return self._redirected(step)
        request = self.request(case, step)
        if "the finished task" in case.title:
            await self._task_ended(request.path)
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            answer = await self.lab.emulator.answer(request)
        except Unanswered:
            none = str(step["status"]).startswith(_NO_ANSWER)
            return [] if none else ["no answer"]
        self._remember(step, answer)
        passed = loop.time() - began
        return self._compared(step, answer) + self._headers_differ(case, step, answer) + _time_differs(step, passed)

    def _headers_differ(self, case: Case, step: dict[str, Any], answer: Answer) -> list[str]:
        """Headers that were recorded, held against those that go over the wire."""
        keep_alive = not answer.close and case.title != "HTTP/1.0"
        now = self.lab.emulator.world.clock.now()
        lines = written(answer, now, version="HTTP/1.1", keep_alive=keep_alive, compress=False).decode("latin-1")
        sent = dict(line.split(": ", 1) for line in lines.partition("\r\n\r\n")[0].split("\r\n")[1:])
        ours = {name.lower(): value for name, value in sent.items()}
        return [
            f"header {name}: {ours.get(name)} instead of {value}"
            for name, value in step.get("headers", {}).items()
            if masked(str(ours.get(name))) != masked(str(value))
        ]

    def _redirected(self, step: dict[str, Any]) -> list[str]:
        head = parse(f"{step['request']} HTTP/1.1\r\nHost: 127.0.0.1:8006".encode())
        now = self.lab.emulator.world.clock.now()
        sent = written(redirected(head), now, version="HTTP/1.1", keep_alive=True, compress=False).decode()
        return _of_bodies(step["body"], sent.replace("\r\n", "\n"))

    async def _together(self, case: Case, step: dict[str, Any]) -> list[str]:
        """Two requests sent at the same time: `two times POST path parameters, sent together`."""
        _, _, rest = step["request"].partition("two times ")
        method, path, form = rest.removesuffix(", sent together").split(" ")
        request = self.request(case, {"request": f"{method} {path}", "form": form})
        one, other = await asyncio.gather(self.lab.emulator.answer(request), self.lab.emulator.answer(request))
        wanted = sorted(step[name].removeprefix("HTTP/1.1 ") for name in ("first answer", "second answer"))
        got = sorted(f"{each.status} {each.reason}" for each in (one, other))
        return [] if wanted == got else [f"answers {got} instead of {wanted}"]

    async def _task_ended(self, path: str) -> None:
        found = _UPID.search(unquote(path))
        if found is not None and found[0] in self.lab.emulator.tasks.known:
            await self.lab.ended(found[0])

    def request(self, case: Case, step: dict[str, Any]) -> Request:
        """The request of a step."""
        given = headers(self.lab, case.who)
        method, _, target = step["request"].partition(" ")
        path, _, query = target.partition("?")
        path = path.replace("{x*9000}", "x" * 9000)
        if "query" in step:
            query = _encoded(step["query"])
        body = b""
        if "raw" in step:
            given["content-type"] = step["content_type"]
            body = _REPEATED.sub(lambda found: found[2] * int(found[1]), step["raw"]).encode()
        elif "multipart" in step:
            given["content-type"], body = _multipart(step["multipart"])
        elif form := step.get("form", step.get("remark", "") if method == "POST" else ""):
            given["content-type"] = "application/x-www-form-urlencoded"
            body = _encoded(self._ours(form)).encode()
        return Request(method, self._ours(path), self._ours(query), given, body, "pve1")

    def _ours(self, text: str) -> str:
        for theirs, ours in self.lab.stand_ins.items():
            text = text.replace(theirs, ours)
        if "UPID" not in text:
            return text
        known = self.upids | self.lab.stand_ins
        decoded = _UPID.sub(lambda found: known.get(found[0], found[0]), unquote(text))
        return quote(decoded, safe="/:!@") if text != unquote(text) else decoded

    def _remember(self, step: dict[str, Any], answer: Answer) -> None:
        answered = step.get("answer")
        if (
            isinstance(answered, dict)
            and isinstance(theirs := answered.get("data"), str)
            and theirs.startswith("UPID:")
        ):
            ours = orjson.loads(answer.body).get("data") if answer.status == 200 else None
            if isinstance(ours, str):
                self.upids[theirs] = ours

    def _compared(self, step: dict[str, Any], answer: Answer) -> list[str]:
        found: list[str] = []
        if answer.status != step["status"] or masked(answer.reason) != masked(step.get("reason", "")):
            found.append(f"{answer.status} {answer.reason} instead of {step['status']} {step.get('reason')}")
        if "type" in step and answer.content_type != step["type"]:
            found.append(f"content type {answer.content_type} instead of {step['type']}")
        if "answer" in step:
            if not answer.body.startswith((b"{", b"[")):
                return [*found, f"body {answer.body!r}"]
            return found + differences(step["answer"], orjson.loads(answer.body))
        return found + _of_bodies(step.get("body", ""), answer.body.decode())


def _of_bodies(expected: str, actual: str) -> list[str]:
    if SHORTENED not in expected:
        return [] if masked(expected) == masked(actual.rstrip("\n")) else [f"body {actual!r} instead of {expected!r}"]
    whole = expected.partition(SHORTENED)[0]
    members = salvaged(whole)
    if members is None:
        begins = actual.startswith(whole) or actual.startswith("{")
        return [] if begins else [f"body {actual[:200]!r} instead of {whole[:200]!r}"]
    return first_differences(members, orjson.loads(actual)["data"], ".data")


def _time_differs(step: dict[str, Any], passed: float) -> list[str]:
    wanted = float(step.get("elapsed", "0s").removesuffix("s"))
    if max(wanted, passed) < _NOTICEABLE or "elapsed" not in step or abs(wanted - passed) < _TOLERANCE:
        return []
    return [f"took {passed:.1f} s instead of {wanted:.1f} s"]


def _encoded(text: str) -> str:
    """Parameters are recorded decoded."""
    pairs = (pair.partition("=") for pair in _PAIR.split(text))
    return "&".join(f"{quote(name)}{mark}{quote_plus(value)}" for name, mark, value in pairs)


def _multipart(text: str) -> tuple[str, bytes]:
    boundary, body = "recorded", b""
    fields = [field_.partition("=")[::2] for field_ in text.removesuffix(" (in this order)").split("; ")]
    file = _FILE.search(text)
    sent = b"x" * (int(file[1] or 2000) * (1 << 20 if file[2] == "MiB" else 1)) if file else b""
    algorithm = dict(fields).get("checksum-algorithm", "sha256")
    for name, value in fields:
        disposition, content = f'form-data; name="{name}"', value.encode()
        if found := _FILE.fullmatch(value):
            disposition, content = f'{disposition}; filename="{found[3]}"', sent
        elif value == "<right>":
            content = hashlib.new(algorithm, sent).hexdigest().encode()
        body += f"--{boundary}\r\nContent-Disposition: {disposition}\r\n\r\n".encode() + content + b"\r\n"
    body += f"--{boundary}--\r\n".encode()
    return f"multipart/form-data; boundary={boundary}", body


def _unseen(number: str) -> ModuleType | None:
    name = f"support.proxmox_recorded.of_{number}"
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


@cache
def played(number: str) -> dict[str, list[str]]:
    """The differences of each case of a file, played once."""
    return run(_played(recorded.files()[number], _unseen(number)))


async def _played(cases: Iterable[Case], unseen: ModuleType | None) -> dict[str, list[str]]:
    async with proxmox_lab() as lab:
        playing = Playing(lab, unseen)
        begin: Before | None = getattr(unseen, "begin", None)
        wrong = await playing.prepared(begin) if begin is not None else []
        found = {case.id: await playing.play(case) for case in cases}
        first = next(iter(found))
        return {**found, first: wrong + found[first]}
