"""Where an answer differs from the recorded one, beyond what differs between any two runs of PVE.

Numbers of processes, times, digests, random addresses and what a host measured are only compared by kind. PVE keeps
most of its lists in no order, so lists of objects are compared by what identifies their members.
"""

from __future__ import annotations

import json
import re
from typing import Any

SHORTENED = " ...[shortened"
ELIDED = "(elided)"

_MEASURED = frozenset(
    {
        "starttime",
        "endtime",
        "pid",
        "pstart",
        "uptime",
        "cpu",
        "ctime",
        "digest",
        "ssl_fingerprint",
        "ticket",
        "CSRFPreventionToken",
        "used",
        "used_fraction",
        "total-tasks",
        "loadavg",
        "wait",
        "idle",
        "time",
        "rootfs",
        "swap",
        "memory-info",
        "kversion",
        "current-kernel",
        "cpuinfo",
        "boot-info",
        "ksm",
        "netin",
        "netout",
        "diskread",
        "diskwrite",
        "blockstat",
        "balloon",
        "nics",
        "ballooninfo",
        "proxmox-support",
        "memhost",
        "pressurecpufull",
        "pressurecpusome",
        "pressureiofull",
        "pressureiosome",
        "pressurememoryfull",
        "pressurememorysome",
        "fingerprint",
        "pem",
        "notafter",
        "notbefore",
        "timestamp",
        "uid",
        "msg-id",
        "pve_fp",
        "pve_addr",
        "freemem",
        "rx-bytes",
        "rx-packets",
    }
)
_OF_HOSTS = frozenset({"disk", "mem", "avail", "free"})
_OF_A_HOST = 10**9
"""What uses that many bytes is a host or its disk, and other data were on it."""
_MASKS = [
    (re.compile(r"UPID:[^:\s]+:[0-9A-F]{8}:[0-9A-F]{8,9}:[0-9A-F]{8}:"), "UPID:*:"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uuid>"),
    (re.compile(r"\b(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}\b"), "<mac>"),
    (re.compile(r"\b20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\b"), "<time>"),
    (re.compile(r"\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT"), "<date>"),
    (re.compile(r"\bctime=\d+"), "ctime=<time>"),
    (re.compile(r"\.tmp\.\d+"), ".tmp.<pid>"),
    (re.compile(r"\bpveupload-[0-9a-f]{32}"), "pveupload-<id>"),
    (re.compile(r"\b[0-9a-f]{40}\b"), "<sha1>"),
    (re.compile(r"\bpid \d+"), "pid <pid>"),
    (re.compile(r"\(duration \d\d:\d\d:\d\d\)"), "(duration)"),
    (re.compile(r"\.tmp_d(?:wnl|com)\.\d+"), ".tmp_<pid>"),
    (re.compile(r"\b\d+M=0s"), "<rate>"),
    (re.compile(r"\(\d+ MB/s\)"), "(<rate>)"),
    (re.compile(r"\$5\$[./\w]+\$[./\w]+"), "<hash>"),
    (re.compile(r"^\d+:(?=pve\d$)"), "<entry>:"),
]
_SETS = frozenset({"content"})
_IDENTITIES = (
    "volid",
    "upid",
    "id",
    "vmid",
    "roleid",
    "userid",
    "poolid",
    "groupid",
    "realm",
    "tokenid",
    "name",
    "iface",
    "storage",
    "subdir",
    "node",
    "sid",
    "rule",
    "key",
    "path",
    "time",
)


def differences(expected: Any, actual: Any, where: str = "") -> list[str]:
    """What differs, in words."""
    key = where.rpartition(".")[2]
    if isinstance(expected, str) and ELIDED in expected:
        return []
    if key in _MEASURED and expected is not None and actual is not None:
        return _of_measurements(expected, actual, where)
    if key in _OF_HOSTS and min(_number(expected), _number(actual)) > _OF_A_HOST:
        return []
    if isinstance(expected, dict) and isinstance(actual, dict):
        return _of_objects(expected, actual, where)
    if isinstance(expected, list) and isinstance(actual, list):
        return _of_lists(expected, actual, where)
    if isinstance(expected, str) and isinstance(actual, str):
        return _of_texts(expected, actual, where)
    if type(expected) is type(actual) and expected == actual:
        return []
    return [f"{where}: {_short(actual)} instead of {_short(expected)}"]


def salvaged(text: str) -> Any:
    """What is whole of a JSON text that was cut off: the first members of its `data`."""
    start = re.search(r'"data":\[', text)
    if start is None:
        return None
    decoder, members, position = json.JSONDecoder(), [], start.end()
    while position < len(text):
        try:
            member, position = decoder.raw_decode(text, position)
        except ValueError:
            break
        members.append(member)
        position += 1
    return members


def first_differences(expected: list[Any], actual: list[Any], where: str) -> list[str]:
    """What differs in the members that a cut-off list still shows."""
    if any(_in_order(each) for each in expected):
        return _of_lists(expected, actual[: len(expected)], where)
    wanted = {identity(each) for each in expected}
    return _of_lists(expected, [each for each in actual if identity(each) in wanted], where)


def identity(value: Any) -> str:
    """What tells members of a list apart."""
    if isinstance(value, dict):
        return "/".join(masked(str(value[name])) for name in _IDENTITIES if name in value) or json.dumps(
            value, sort_keys=True
        )
    return str(value)


def masked(text: str) -> str:
    """A text without what chance and time put into it."""
    for pattern, mask in _MASKS:
        text = pattern.sub(mask, text)
    return text


def _of_measurements(expected: Any, actual: Any, where: str) -> list[str]:
    """Only names and kinds count."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        found = [f"{where}.{name}: only one of both has it" for name in expected.keys() ^ actual.keys()]
        for name in expected.keys() & actual.keys():
            found += _of_measurements(expected[name], actual[name], f"{where}.{name}")
        return found
    return [] if _kind(expected) == _kind(actual) else [f"{where}: {actual!r} is no {_kind(expected)}"]


def _of_objects(expected: dict[str, Any], actual: dict[str, Any], where: str) -> list[str]:
    found = [f"{where}.{name}: missing, should be {_short(expected[name])}" for name in expected.keys() - actual.keys()]
    found += [f"{where}.{name}: {_short(actual[name])} should not be there" for name in actual.keys() - expected.keys()]
    for name in expected:
        if name in actual and not (name == "total" and _tasks(expected)):
            found += differences(expected[name], actual[name], f"{where}.{name}")
    return found


def _tasks(answer: dict[str, Any]) -> bool:
    """Whether it lists tasks: how many there were before a file began is not known."""
    data = answer.get("data")
    return isinstance(data, list) and any(isinstance(each, dict) and "upid" in each for each in data)


def _of_lists(expected: list[Any], actual: list[Any], where: str) -> list[str]:
    if expected and all(isinstance(each, dict) and not _in_order(each) for each in (*expected, *actual)):
        expected, actual = sorted(expected, key=identity), sorted(actual, key=identity)
        ours, theirs = [identity(each) for each in actual], [identity(each) for each in expected]
        if ours != theirs:
            missing = [each for each in theirs if each not in ours]
            beyond = [each for each in ours if each not in theirs]
            if missing or beyond:
                return [f"{where}: missing {missing}, too many {beyond}"]
    if len(expected) != len(actual):
        return [f"{where}: {len(actual)} members instead of {len(expected)}: {_short(actual)} / {_short(expected)}"]
    found = []
    for number, (one, other) in enumerate(zip(expected, actual, strict=True)):
        found += differences(one, other, f"{where}[{number}]")
    return found


def _in_order(member: Any) -> bool:
    """Whether it has its place in a list: lines and entries of a log, moments of a graph."""
    return isinstance(member, dict) and ("n" in member or "msg" in member or member.keys() == {"time"})


def _of_texts(expected: str, actual: str, where: str) -> list[str]:
    one, other = masked(expected), masked(actual)
    if where.rpartition(".")[2] in _SETS and set(one.split(",")) == set(other.split(",")):
        return []
    return [] if one == other else [f"{where}: {_short(actual)} instead of {_short(expected)}"]


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) else 0


def _kind(value: Any) -> str:
    return "number" if isinstance(value, int | float) else type(value).__name__


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return repr(text if len(text) < 400 else text[:400] + "...")
