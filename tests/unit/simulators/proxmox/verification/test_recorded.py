"""Refusals of parameters, held against the recorded answers of PVE 9.2."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

import pytest

from nagaya.simulators.proxmox import surface
from nagaya.simulators.proxmox.failure import ParameterFailure
from nagaya.simulators.proxmox.verification import Value, accept, verify
from support.subtest_cases import subtest_cases

RECORDED = Path(__file__).parents[1] / "recorded"

DECIDED_BY_CODE = {
    "01.60": "the password of the caller is asked for by the call",
    "02.105": "who may use skiplock",
    "02.106": "who may use stateuri",
    "02.108": "who may use skiplock",
    "03.46": "what a storage holds",
    "03.103": "which options can be deleted",
    "03.104": "which options can be deleted",
    "03.155": "a parameter of the path given again, which the dispatch of requests sees",
    "04.04": "which VMs exist",
    "05.35": "which tasks exist",
    "05.38": "task identifiers are read by the call",
    "05.39": "task identifiers are read by the call",
    "05.41": "which tasks exist",
    "05.44": "which tasks exist",
    "06.05": "which storages exist",
    "06.14": "which storages exist",
    "06.109": "file names of images",
    "06.133": "what a volume holds",
    "07.53": "which paths can have rights",
    "07.77": "which tokens exist",
    "11.93": "on which host a VM is",
    "13.08": "which VMs exist",
}
"""Refusals with the status of a wrong parameter that are not about its form."""


def fields(text: str | None) -> list[tuple[str, str]]:
    """Parameters as the transcripts show them: already decoded, so an & is a separator only before a name."""
    parts = re.split(r"&(?=[\w-]+=)", text) if text else []
    return [(name, value) for part in parts for name, _, value in [part.partition("=")]]


def gathered(pairs: list[tuple[str, str]]) -> dict[str, Value]:
    """A name given twice has both values."""
    result: dict[str, Any] = {}
    for name, value in pairs:
        if name not in result:
            result[name] = value
        else:
            before = result[name] if isinstance(result[name], list) else [result[name]]
            result[name] = [*before, value]
    return result


def parameters_of(step: dict[str, Any], query: str) -> dict[str, Value]:
    """What reaches verification, apart from the path."""
    shown = [fields(step.get(part)) for part in ("query", "form", "remark")]
    sent = gathered([*parse_qsl(query, keep_blank_values=True), *chain.from_iterable(shown)])
    sent.pop("_dc", None)  # taken out by the server: browsers add it so that nothing is cached
    if "raw" in step:
        if step["content_type"].startswith("application/json"):
            sent |= json.loads(step["raw"])
        else:
            sent |= gathered(parse_qsl(step["raw"], keep_blank_values=True))
    return sent


def cases() -> Iterator[Any]:
    """Every recorded step whose answer names parameters, and every success with parameters."""
    for file in sorted(RECORDED.glob("*.jsonl")):
        for line in file.read_text().splitlines():
            case = json.loads(line)
            for number, step in enumerate(case["steps"]):
                if is_about_parameters(step):
                    name = case["case"] if number == 0 else f"{case['case']}-{number}"
                    yield pytest.param(case["case"], step, id=name)


def is_about_parameters(step: dict[str, Any]) -> bool:
    """Uploads are left out, because what they send is described and not shown, and so are paths that do not exist."""
    if "answer" not in step or "multipart" in step or not step["request"].startswith(("GET", "PUT", "POST", "DELETE")):
        return False
    answer = step["answer"]
    return isinstance(answer, dict) and (
        bool(answer.get("errors")) or (step["status"] == 200 and "status" not in answer)
    )


@subtest_cases(("case", "step"), cases)
def test_parameters_are_refused_or_taken_as_pve_did(case: str, step: dict[str, Any]) -> None:
    method, _, target = step["request"].partition(" ")
    path, _, query = target.partition("?")
    found = surface.routes("9.2").find(method, "/".join(unquote(path).split("/")[3:]))
    assert found is not None
    sent = parameters_of(step, query.replace(";", "&")) | dict(found.path_parameters)
    errors = verify(found.route.parameters, sent)
    if case in DECIDED_BY_CODE or not step["answer"].get("errors"):
        assert errors == {}
        accept(found.route.parameters, sent)
    else:
        assert errors == step["answer"]["errors"]
        with pytest.raises(ParameterFailure) as refused:
            accept(found.route.parameters, sent)
        assert refused.value.errors == errors
