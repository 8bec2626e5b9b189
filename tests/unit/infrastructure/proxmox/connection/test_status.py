"""What a connection says: a reason and one sentence with the remedy for everything that can be wrong."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

import msgspec
import pytest

from nagaya.api.proxmox.conditions import ProxmoxClusterReason
from nagaya.api.proxmox.proxmox_connection import (
    PROXMOX_CONNECTIONS,
    ProxmoxConnection,
    ProxmoxConnectionStatus,
)
from nagaya.infrastructure.proxmox.client import Proxmox, Snapshot
from nagaya.infrastructure.proxmox.client.cluster import Version
from nagaya.infrastructure.proxmox.client.errors import (
    Evidence,
    HostUnreachable,
    Malformed,
    NoEndpoint,
    Unauthorized,
)
from nagaya.infrastructure.proxmox.client.rows import Host
from nagaya.infrastructure.proxmox.connection.connections import Connected
from nagaya.infrastructure.proxmox.connection.findings import Findings, datacenter_id
from nagaya.infrastructure.proxmox.connection.look import AWAY, LACKING, REFUSED, USUAL, Look
from nagaya.infrastructure.proxmox.connection.plan import Plan
from nagaya.infrastructure.proxmox.connection.reference import CONNECTION, Reference
from nagaya.infrastructure.proxmox.connection.source import Unusable
from nagaya.infrastructure.proxmox.connection.status import status
from nagaya.infrastructure.proxmox.privileges.held import Held
from nagaya.kube.key import Key
from nagaya.simulators.proxmox.access.roles import built_in
from support.subtest_cases import subtest_cases

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
ALL = Held({"/": dict.fromkeys(built_in("9.2")["Administrator"], True)})
ASKED = Evidence("GET", "/version", "pve1")


def connection(**told: Any) -> ProxmoxConnection:
    metadata = {"name": "pve", "namespace": "default", "generation": 3}
    return PROXMOX_CONNECTIONS.convert(
        {"metadata": metadata, "spec": {"credentialsRef": {"name": "pve"}}, "status": told}
    )


def seen(held: Held = ALL, *, version: str = "9.2.1", quorate: bool | None = True, problem: Any = None) -> Look:
    major, minor = version.split(".")[:2]
    found = Findings(Version(version, (int(major), int(minor))), "demo", held, "nagaya@pve!nagaya", 0.0)
    nobody_asks = cast(Proxmox, None)
    connected = Connected(Reference(CONNECTION, Key("default", "pve")), nobody_asks, findings=found)
    hosts = {"pve1": Host("pve1", True, cpus=4, memory=8 << 30), "pve2": Host("pve2", False)}
    snapshot = Snapshot(NOW, 0.0, "demo", quorate, hosts)
    return Look(connected, None if problem else snapshot, problem)


def told(look: Look, before: ProxmoxConnection | None = None) -> dict[str, tuple[str, str, str]]:
    found = status(before or connection(), look, Plan(hold=True), NOW)
    return {each.type: (each.status, each.reason, each.message) for each in found.conditions}


def test_what_credentials_are_good_for_is_told_by_what_a_connection_works_with() -> None:
    in_pool = Held({"/pool/home": dict.fromkeys(built_in("9.2")["Administrator"], True), "/": {}})
    connected = seen(in_pool).connected
    assert connected is not None
    home, away = replace(connected, pool="home"), replace(connected, pool="away")
    for _ in range(2):
        for each, path in ((home, "/pool/home"), (away, "/pool/away")):
            assert each.preflight is not None
            lacking = {missing.path for missing in each.preflight.missing}
            assert (path in lacking) is (each is away)
    later = seen(ALL).connected
    assert later is not None
    assert later.preflight is not None
    assert not later.preflight.missing


def test_all_is_well() -> None:
    found = status(connection(), seen(), Plan(hold=True), NOW)
    assert {each.status for each in found.conditions} == {"True"}
    assert (found.version, found.datacenter, found.quorate, found.observed_generation) == ("9.2.1", "demo", True, 3)
    assert [(host.name, host.online, host.memory_mib) for host in found.hosts] == [
        ("pve1", True, 8192),
        ("pve2", False, None),
    ]


@subtest_cases(
    ("problem", "ready", "credentials"),
    [
        (Unauthorized(ASKED), "NotReady", ("False", "Refused")),
        (HostUnreachable(Evidence("GET", "/version", reason="took no connection")), "Unreachable",
         ("Unknown", "Unknown")),
        (HostUnreachable(Evidence("GET", "/version", reason="the certificate of x is not trusted: self-signed")),
         "CertificateNotTrusted", ("Unknown", "Unknown")),
        (Malformed(ASKED), "NotProxmox", ("Unknown", "Unknown")),
        (Unusable(ProxmoxClusterReason.SECRET_MISSING, "There is none.", "missing"), "NotReady",
         ("False", "SecretMissing")),
        (Unusable(ProxmoxClusterReason.SECRET_UNUSABLE, "It is empty.", "secret"), "NotReady",
         ("False", "SecretUnusable")),
        (Unusable(ProxmoxClusterReason.SECRET_UNUSABLE, "It is no URL.", "endpoint"), "EndpointInvalid",
         ("Unknown", "Unknown")),
        (Unusable(ProxmoxClusterReason.SECRET_UNUSABLE, "It is no PEM.", "trust"), "CertificateNotTrusted",
         ("Unknown", "Unknown")),
    ],
)  # fmt: skip
def test_each_problem_has_its_reason(problem: Exception, ready: str, credentials: tuple[str, str]) -> None:
    found = told(seen(problem=problem))
    sentence = found["Ready"][2]
    assert found["Ready"][:2] == ("False", ready)
    if isinstance(problem, HostUnreachable):
        assert sentence.startswith(str(problem))
    elif not isinstance(problem, Unauthorized):
        assert sentence == str(problem)
    assert found["CredentialsAccepted"][:2] == credentials
    assert found["PrivilegesComplete"][0] == found["Quorate"][0] == "Unknown"


def test_who_is_not_trusted_is_told_with_what_to_do() -> None:
    why = "the certificate of https://pve1:8006 is not trusted: self-signed (SHA-256 fingerprint AA:BB)"
    sentence = told(seen(problem=HostUnreachable(Evidence("GET", "/version", message=why))))["Ready"][2]
    for part in ("AA:BB", "spec.fingerprint", "root_ca of Secret", "`nagaya proxmox connect "):
        assert part in sentence


def test_what_was_known_stays_while_nobody_answers() -> None:
    before = connection(datacenter="demo", version="9.2.1", hosts=[{"name": "pve1", "online": True}])
    found = status(before, seen(problem=HostUnreachable(ASKED)), Plan(hold=True), NOW)
    assert (found.datacenter, found.version, [each.name for each in found.hosts]) == ("demo", "9.2.1", ["pve1"])


def test_missing_privileges_are_named_with_what_they_are_for_and_a_command() -> None:
    less = Held({"/": {name: True for name in ALL.by_path["/"] if name != "SDN.Use"}})
    found = told(seen(less))
    assert found["PrivilegesComplete"][:2] == ("False", "Missing")
    message = found["PrivilegesComplete"][2]
    assert message.startswith(
        "nagaya@pve!nagaya lacks SDN.Use on /sdn/zones/localnetwork, to clone machines. On any host run: pveum role add"
    )
    assert found["Ready"] == ("False", "NotReady", message)


def test_status_lists_the_privileges_that_are_missing_at_the_last_look_that_could_tell() -> None:
    less = Held({"/": {name: True for name in ALL.by_path["/"] if name != "SDN.Use"}})
    lacking = status(connection(), seen(less), Plan(hold=True), NOW).missing_privileges
    (missing,) = lacking
    assert (missing.path, missing.privilege) == ("/sdn/zones/localnetwork", "SDN.Use")
    assert missing.command.startswith("pveum ")
    before = msgspec.structs.replace(connection(), status=ProxmoxConnectionStatus(missing_privileges=lacking))
    away = seen(problem=HostUnreachable(ASKED))
    assert status(before, away, Plan(hold=True), NOW).missing_privileges == lacking
    assert status(before, seen(), Plan(hold=True), NOW).missing_privileges == ()


def test_every_command_that_is_needed_is_in_the_condition_and_each_once() -> None:
    gone = {"SDN.Use", "VM.PowerMgmt", "VM.Config.CDROM", "Sys.Audit"}
    less = Held({"/": {name: True for name in ALL.by_path["/"] if name not in gone}})
    message = told(seen(less))["PrivilegesComplete"][2]
    for privilege in gone:
        assert f"{privilege} on " in message
    for place in ("/ ", "/nodes ", "/sdn/zones/localnetwork ", "/vms "):
        assert message.count(f"pveum acl modify {place}") == 1


def test_endpoints_that_do_not_answer_are_told_with_what_to_do() -> None:
    why = "https://pve1:8006 cannot be reached: Connection refused"
    found = told(seen(problem=NoEndpoint(Evidence("GET", "/version", message=why))))
    assert found["Ready"][:2] == ("False", "Unreachable")
    for part in ("Connection refused", "systemctl status pveproxy", "spec.endpoints"):
        assert part in found["Ready"][2]


def test_no_quorum_says_which_hosts_are_off() -> None:
    found = told(seen(quorate=False))
    assert found["Quorate"][:2] == ("False", "NoQuorum")
    assert "off: pve2" in found["Quorate"][2]
    assert found["Ready"][0] == "False"


@pytest.mark.parametrize(("version", "too_old"), [("7.4.1", True), ("8.0.3", False), ("9.2.11", False)])
def test_capmox_528_which_versions_are_supported_is_told_by_the_connection(version: str, too_old: bool) -> None:
    _, reason, message = told(seen(version=version))["Ready"]
    assert (reason == "VersionTooOld") == too_old
    assert (message == f"Proxmox VE {version} is too old: 8.0 is the first that is supported.") == too_old


def test_another_data_center_is_refused() -> None:
    before = connection(datacenter="other")
    assert told(seen(), before)["Ready"][1] == "DatacenterChanged"
    assert status(before, seen(), Plan(hold=True), NOW).datacenter == "other"


def test_the_next_look_comes_when_it_may_help() -> None:
    assert seen().again_after == USUAL
    assert seen(Held()).again_after == LACKING
    assert seen(problem=Unauthorized(ASKED)).again_after == REFUSED
    assert seen(problem=HostUnreachable(ASKED)).again_after == AWAY
    missing = Unusable(ProxmoxClusterReason.SECRET_MISSING, "There is none.", "missing")
    assert seen(problem=missing).again_after is None


def test_data_centers_of_one_name_are_told_apart_by_their_authority() -> None:
    assert datacenter_id("Home Lab", "AB:CD:EF:01:23:45:67:89") == "home-lab-abcdef0123"
    assert datacenter_id("pve", "") == "pve"
    assert datacenter_id("---", "") == "pve"


def test_refused_credentials_are_told_with_the_secret_that_they_are_from_and_what_to_do() -> None:
    problem = Unauthorized(Evidence("GET", "/version", "pve1", 401, "Authentication failed!"))
    for type in ("Ready", "CredentialsAccepted"):
        message = told(seen(problem=problem))[type][2]
        assert message.startswith(
            "Proxmox VE refuses the credentials of Secret default/pve: Authentication failed! (HTTP"
        )
        assert "`nagaya proxmox connect URL -n default --name pve`" in message
