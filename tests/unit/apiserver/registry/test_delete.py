"""What is said about a deletion besides that it was done."""

from __future__ import annotations

import pytest

from nagaya.apiserver.server import ApiServer, Config
from nagaya.apiserver.web.request import Request
from support.in_process import ADMIN

TEMPLATE = b'{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}'
JOB = b'{"metadata":{"name":"j"},"spec":{"template":' + TEMPLATE + b"}}"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
WARNING = (
    '299 - "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them '
    'or set propagationPolicy=Orphan to suppress this warning"'
)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [WARNING]),
        ("?propagationPolicy=Orphan", []),
        ("?propagationPolicy=Background", []),
        ("?orphanDependents=true", []),
    ],
)
async def test_deleting_a_job_warns_of_its_pods_unless_they_are_spoken_of(query: str, expected: list[str]) -> None:
    server = await ApiServer.start(Config(tokens={"admin": ADMIN}))
    headers = {"Authorization": "Bearer admin", "Content-Type": "application/json"}
    made = await server.handle(Request.make("POST", JOBS, JOB, headers))
    assert made.status == 201
    gone = await server.handle(Request.make("DELETE", f"{JOBS}/j{query}", b"", headers))
    assert gone.status == 200
    assert [value for name, value in gone.headers if name == "Warning"] == expected
    await server.stop()
