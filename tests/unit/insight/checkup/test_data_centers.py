"""What is to be done about an endpoint of Proxmox VE, by what is wrong with it."""

from __future__ import annotations

import pytest

from nagaya.api.meta import ObjectMeta
from nagaya.api.proxmox.proxmox_connection import ProxmoxConnection, ProxmoxConnectionSpec
from nagaya.api.proxmox.references import SecretReference
from nagaya.infrastructure.proxmox.connection.examination import Examined, Verdict
from nagaya.infrastructure.proxmox.connection.reference import connection_reference
from nagaya.insight.checkup.data_centers import told
from nagaya.insight.checkup.finding import Subject

URL = "https://pve:8006"
TRUST = "nagaya proxmox connect https://pve:8006 -n default --name lab --fingerprint SHA256"
AWAY = "Does not answer: Connection refused."
OPEN = "Answers, and anybody could: certificates are not looked at (insecure)."
DISTRUSTED = "The certificate is not trusted: it is another one. It has the SHA-256 fingerprint AB:CD."


def remedies(examined: Examined, *, insecure: bool = False) -> tuple[str, ...]:
    spec = ProxmoxConnectionSpec(endpoints=(URL,), credentials_ref=SecretReference(name="lab"), insecure=insecure)
    connection = ProxmoxConnection(metadata=ObjectMeta(name="lab", namespace="default"), spec=spec)
    (found,) = told(Subject("lab"), [examined], connection_reference(connection), connection)
    return found.remedy


@pytest.mark.parametrize(
    ("insecure", "sentence", "remedy"),
    [
        (False, AWAY, "systemctl status pveproxy   # on the host"),
        (True, AWAY, "systemctl status pveproxy   # on the host"),
        (True, OPEN, f"{TRUST}   # `pvenode cert info` on the host shows it"),
        (False, DISTRUSTED, f"{TRUST}   # `pvenode cert info` on the host shows it"),
    ],
    ids=["away", "away and insecure", "insecure", "not trusted"],
)
def test_a_host_that_is_away_is_looked_after_and_one_that_anybody_could_be_is_recognised(
    insecure: bool, sentence: str, remedy: str
) -> None:
    assert remedies(Examined(f"endpoint {URL}", Verdict.BAD, sentence), insecure=insecure) == (remedy,)


def test_a_command_that_the_examination_names_goes_first() -> None:
    ending = Examined(f"endpoint {URL}", Verdict.WARNING, "The certificate ends.", ("pvecm updatecerts",))
    assert remedies(ending) == ("pvecm updatecerts",)
