"""What a check says of a connection, with everything that can be wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from nagaya.api.proxmox.proxmox_connection import PROXMOX_CONNECTIONS, ProxmoxConnection
from nagaya.infrastructure.proxmox.client import Endpoint, Proxmox, Token, Trust
from nagaya.infrastructure.proxmox.client.transport import Answer, Request
from nagaya.infrastructure.proxmox.connection.establishing.certificate import Certificate, NoCertificate
from nagaya.infrastructure.proxmox.connection.examination import Examined, Verdict, examine
from nagaya.simulators.proxmox import request as emulated
from nagaya.simulators.proxmox.emulator import Proceed
from support.proxmox_transport import DataCenter, Valid, data_center
from support.virtual_run import run

GOOD = Certificate("AA:BB", "CN=pve1", "CN=PVE", datetime(2100, 1, 1, tzinfo=UTC))


def connection(**spec: Any) -> ProxmoxConnection:
    content = {"credentialsRef": {"name": "pve"}, "endpoints": ["pve1"], "pool": "nagaya", **spec}
    ready = {"type": "Ready", "status": "True", "reason": "Ready", "message": ""}
    metadata = {"name": "pve", "namespace": "default", "generation": 1}
    status = {"conditions": [{**ready, "lastTransitionTime": "2026-11-01T00:00:00Z"}]}
    return PROXMOX_CONNECTIONS.convert({"metadata": metadata, "spec": content, "status": status})


class _WithCertificates(Valid):
    """PVE tells of certificates, whether the emulator does or not."""

    async def send(self, endpoint: Endpoint, trust: Trust, request: Request) -> Answer:
        known = not request.path.endswith("/certificates/info")
        return await (super().send if known else self._inner.send)(endpoint, trust, request)


def examined(
    change: Callable[[DataCenter], None] = lambda _: None,
    shown: Certificate | NoCertificate = GOOD,
    *,
    version: str = "9.2.11",
    token: Token | None = None,
    **spec: Any,
) -> dict[str, Examined]:
    async def look(_: Endpoint, __: Trust) -> Certificate:
        if isinstance(shown, NoCertificate):
            raise shown
        return shown

    async def main() -> list[Examined]:
        async with data_center(version=version, credentials=token, endpoints=("pve1",)) as there:
            transport = _WithCertificates(there.transport, there.emulator.version)
            client = Proxmox(there.client.facts, there.emulator.world, transport=transport)
            change(there)
            await asyncio.sleep(11)  # hosts have reported
            return await examine(connection(**spec), client.facts, client, look)

    return {each.what: each for each in run(main())}


def test_all_is_well() -> None:
    found = examined(defaults={"storage": "local-lvm", "isoStorage": "local"})
    assert {each.verdict for each in found.values()} == {Verdict.GOOD}
    assert found["storage local-lvm"].sentence == "Holds images, rootdir."
    assert "9001 on pve1 (kubernetes, " in found["templates"].sentence


@pytest.mark.parametrize(
    ("shown", "verdict", "says"),
    [
        (NoCertificate("https://pve1:8006 cannot be reached: refused."), Verdict.BAD, "cannot be reached"),
        (Certificate("AA:BB", "", "", GOOD.ends, "self-signed"), Verdict.BAD, "not trusted: self-signed.*AA:BB"),
        (Certificate("AA:BB", "", "", datetime(2000, 1, 1, tzinfo=UTC)), Verdict.WARNING, "ends on 2000-01-01"),
    ],
    ids=["away", "distrusted", "ending"],
)
def test_endpoints_are_looked_at_one_by_one(shown: Certificate | NoCertificate, verdict: Verdict, says: str) -> None:
    import re

    found = examined(shown=shown)["endpoint https://pve1:8006"]
    assert found.verdict == verdict
    assert re.search(says, found.sentence)


def test_refused_credentials_end_it() -> None:
    found = examined(token=Token("root@pam!demo", "wrong"))
    assert [*found] == ["endpoint https://pve1:8006", "credentials", "controllers"]
    assert found["credentials"].verdict == Verdict.BAD


def test_each_missing_privilege_is_named_with_its_command() -> None:
    def change(there: DataCenter) -> None:
        access = there.emulator.datacenter.access
        tokens = access.users["root@pam"].tokens
        tokens["demo"].privilege_separation = True
        access.roles["Most"] = frozenset({"Sys.Audit", "VM.Audit", "Datastore.Audit"})
        access.acl["/", "token", "root@pam!demo", "Most"] = True

    found = examined(change)["privileges"]
    assert found.verdict == Verdict.BAD
    assert "SDN.Use on /sdn/zones/localnetwork, to clone machines" in found.sentence
    assert any("pveum acl modify /pool/nagaya" in each for each in found.commands)


def test_hosts_quorum_and_storages_that_are_away_are_told() -> None:
    def change(there: DataCenter) -> None:
        there.emulator.datacenter.nodes["pve3"].online = False

    found = examined(change)
    assert found["hosts"].verdict == Verdict.WARNING
    assert "Off: pve3" in found["hosts"].sentence
    assert found["quorum"].verdict == Verdict.GOOD

    def more(there: DataCenter) -> None:
        for name in ("pve2", "pve3"):
            there.emulator.datacenter.nodes[name].online = False

    assert examined(more)["quorum"].verdict == Verdict.BAD


def test_a_default_storage_of_no_use_is_told_with_what_makes_it_one() -> None:
    found = examined(defaults={"storage": "local"})["storage local"]
    assert found.verdict == Verdict.BAD
    assert found.commands == ("pvesm set local --content backup,import,iso,snippets,vztmpl,images",)
    wrong = examined(defaults={"isoStorage": "nowhere"})["storage nowhere"]
    assert wrong.verdict == Verdict.BAD


def test_templates_that_the_default_does_not_match_are_told() -> None:
    found = examined(defaults={"templateSelector": {"matchTags": ["windows"]}})["templates"]
    assert found.verdict == Verdict.WARNING
    assert "windows" in found.sentence


@pytest.mark.parametrize(("seconds", "says"), [(100, "pve2 is 100 s ahead"), (-100, "pve2 is 99 s behind")])
def test_a_clock_that_is_wrong_is_told(seconds: int, says: str) -> None:
    def change(there: DataCenter) -> None:
        async def late(request: emulated.Request, proceed: Proceed) -> emulated.Answer:
            answer = await proceed(request)
            if not request.path.endswith("/nodes/pve2/time"):
                return answer
            told = orjson.loads(answer.body)
            told["data"]["time"] += seconds
            return replace(answer, body=orjson.dumps(told))

        there.emulator.around.append(late)

    found = examined(change)["clocks"]
    assert found.verdict == Verdict.WARNING
    assert says in found.sentence


@pytest.mark.parametrize("version", ["8.4.14", "9.2.11"])
def test_both_versions_are_told(version: str) -> None:
    assert version in examined(version=version)["version"].sentence
