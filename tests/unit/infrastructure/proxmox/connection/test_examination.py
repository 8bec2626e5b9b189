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


def connection(said: dict[str, str] | None = None, **spec: Any) -> ProxmoxConnection:
    content = {"credentialsRef": {"name": "pve"}, "endpoints": ["pve1"], "pool": "nagaya", **spec}
    ready = {"type": "Ready", "status": "True", "reason": "Ready", "message": ""}
    metadata = {"name": "pve", "namespace": "default", "generation": 1}
    status = {"conditions": [{**ready, **(said or {}), "lastTransitionTime": "2026-11-01T00:00:00Z"}]}
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
    endpoints: tuple[str, ...] = ("pve1",),
    said: dict[str, str] | None = None,
    **spec: Any,
) -> dict[str, Examined]:
    async def look(_: Endpoint, __: Trust) -> Certificate:
        if isinstance(shown, NoCertificate):
            raise shown
        return shown

    async def main() -> list[Examined]:
        async with data_center(version=version, credentials=token, endpoints=endpoints) as there:
            transport = _WithCertificates(there.transport, there.emulator.version)
            client = Proxmox(there.client.facts, there.emulator.world, transport=transport)
            change(there)
            await asyncio.sleep(11)  # hosts have reported
            return await examine(connection(said, **spec), client.facts, client, look)

    return {each.what: each for each in run(main())}


def test_all_is_well() -> None:
    found = examined(defaults={"storage": "local-lvm", "isoStorage": "local"})
    assert {each.verdict for each in found.values()} == {Verdict.GOOD}
    assert found["storage local-lvm"].sentence == "Holds images, rootdir. 497 of 500 GiB free on pve3 (1% used)."
    assert found["host versions"].sentence == "All hosts run 9.2.11."
    assert "9001 on pve1 (kubernetes, " in found["templates"].sentence


@pytest.mark.parametrize(
    ("shown", "verdict", "says"),
    [
        (NoCertificate("https://pve1:8006 cannot be reached: refused."), Verdict.BAD, "Cannot be reached: refused"),
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


def test_an_endpoint_that_is_off_is_a_warning_where_others_are_named() -> None:
    away = NoCertificate("https://pve1:8006 cannot be reached: refused.")
    found = examined(shown=away, endpoints=("pve1", "pve2"))
    assert found["endpoint https://pve1:8006"].verdict == Verdict.WARNING
    assert not [each for each in found.values() if each.verdict is Verdict.BAD]


def test_where_no_endpoint_answers_credentials_are_not_blamed() -> None:
    def change(there: DataCenter) -> None:
        for each in there.emulator.datacenter.nodes.values():
            each.online = False

    found = examined(change)
    assert [*found] == ["endpoint https://pve1:8006", "endpoints", "controllers"]
    assert "systemctl status pveproxy" in found["endpoints"].sentence


@pytest.mark.parametrize(
    ("reason", "verdict"), [("NotReady", Verdict.WARNING), ("Unreachable", Verdict.BAD)], ids=["rights", "network"]
)
def test_what_controllers_have_not_noticed_yet_is_told_from_what_only_they_see(reason: str, verdict: Verdict) -> None:
    found = examined(said={"status": "False", "reason": reason, "message": "It lacks SDN.Use."})["controllers"]
    assert found.verdict == verdict
    assert ("It lacks SDN.Use." in found.sentence) is (verdict is Verdict.BAD)


def test_what_controllers_say_too_is_not_said_twice() -> None:
    token = Token("root@pam!demo", "wrong")
    before = examined(token=token)["credentials"].sentence
    found = examined(token=token, said={"status": "False", "reason": "NotReady", "message": before})["controllers"]
    assert (found.verdict, found.sentence) == (Verdict.BAD, "They say the same.")


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


def test_a_storage_without_room_is_bad_if_it_is_the_default() -> None:
    def change(there: DataCenter) -> None:
        there.emulator.datacenter.storages["local-lvm"].capacity = 3 << 30

    found = examined(change)["storage local-lvm"]
    assert found.verdict == Verdict.WARNING
    assert "100% used" in found.sentence
    assert examined(change, defaults={"storage": "local-lvm"})["storage local-lvm"].verdict == Verdict.BAD


def test_hosts_of_different_releases_are_told() -> None:
    def change(there: DataCenter) -> None:
        async def older(request: emulated.Request, proceed: Proceed) -> emulated.Answer:
            answer = await proceed(request)
            if not request.path.endswith("/nodes/pve2/version"):
                return answer
            told = orjson.loads(answer.body)
            told["data"]["version"] = "9.1.4"
            return replace(answer, body=orjson.dumps(told))

        there.emulator.around.append(older)

    found = examined(change)["host versions"]
    assert found.verdict == Verdict.WARNING
    assert "pve2 runs 9.1.4" in found.sentence
    assert found.commands == ("apt update && apt full-upgrade   # on pve2",)


def test_a_host_that_does_not_answer_keeps_no_other_from_telling() -> None:
    def change(there: DataCenter) -> None:
        async def hanging(request: emulated.Request, proceed: Proceed) -> emulated.Answer:
            if "/nodes/pve2/" in request.path:
                await asyncio.Event().wait()
            return await proceed(request)

        there.emulator.around.append(hanging)

    found = examined(change)
    assert found["clocks"].verdict == Verdict.WARNING
    assert found["clocks"].sentence == "Within 5 s of this machine's. pve2 did not tell."
    assert found["host versions"].verdict == Verdict.GOOD
