from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from nagaya.controlplane.hosted.host.certificates import Authorities, Certificates, ensure
from nagaya.controlplane.hosted.host.tenant_folder import TenantFolder
from nagaya.pki import certificates, keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.key_pair import KeyPair
from nagaya.pki.kubeadm.identities import CONTROLLER_MANAGER, SCHEDULER
from nagaya.pki.kubeadm.inputs import Inputs

UID = "355ba8b8-c8fd-40d6-92d6-8e90aaaf6302"
LIFE = timedelta(hours=3)
INPUTS = Inputs(endpoint_host="api.example", advertise_address="192.0.2.10", leaf_validity=LIFE)


class Clock:
    def __init__(self) -> None:
        self.date = datetime(2026, 11, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.date

    def monotonic(self) -> float:
        return self.date.timestamp()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def authorities(clock: Clock) -> Authorities:
    made = [CertificateAuthority.create(name, clock) for name in ("kubernetes", "front-proxy-ca")]
    pairs = [KeyPair(each.certificate_pem, each.key_pem) for each in made]
    return Authorities(pairs[0], pairs[1], KeyPair.of_service_accounts(keys.generate()))


def made(folder: TenantFolder, authorities: Authorities, clock: Clock, inputs: Inputs = INPUTS) -> Certificates:
    return ensure(folder, authorities, inputs, "https://192.0.2.10:6443", (CONTROLLER_MANAGER, SCHEDULER), clock)


def content(folder: TenantFolder) -> dict[str, bytes]:
    return {str(each.relative_to(folder.path)): each.read_bytes() for each in folder.path.rglob("*") if each.is_file()}


def test_everything_is_made_once(tmp_path: Path, authorities: Authorities, clock: Clock) -> None:
    folder = TenantFolder.of(tmp_path, UID)
    first = made(folder, authorities, clock)
    before = content(folder)

    assert made(folder, authorities, clock) == replace(first, renewed=())
    assert content(folder) == before
    assert {"pki/ca.key", "pki/sa.pub", "pki/apiserver.crt", "scheduler.conf"} <= before.keys()
    assert "pki/front-proxy-ca.key" not in before  # nobody needs it
    assert [each.name for each in first.issued][:3] == ["ca", "front-proxy-ca", "apiserver"]
    assert first.due == clock.date + LIFE * 2 / 3


def test_a_renewed_certificate_keeps_its_key(tmp_path: Path, authorities: Authorities, clock: Clock) -> None:
    folder = TenantFolder.of(tmp_path, UID)
    made(folder, authorities, clock)
    before = content(folder)
    clock.date += LIFE * 0.7

    again = made(folder, authorities, clock)

    changed = {name for name, each in content(folder).items() if before[name] != each}
    assert changed == {
        f"pki/{name}.crt"
        for name in ("apiserver", "apiserver-kubelet-client", "front-proxy-client", "controller-manager", "scheduler")
    }
    assert len(again.renewed) == 5
    assert "expires on" in again.renewed[0]
    assert again.due is not None
    assert again.due > clock.date


def test_another_name_is_reason_enough(tmp_path: Path, authorities: Authorities, clock: Clock) -> None:
    folder = TenantFolder.of(tmp_path, UID)
    made(folder, authorities, clock)

    again = made(folder, authorities, clock, replace(INPUTS, api_server_sans=("other.example",)))

    assert again.renewed == ("The certificate CN=kube-apiserver is not valid for other.example.",)


def test_what_somebody_damaged_is_made_anew(tmp_path: Path, authorities: Authorities, clock: Clock) -> None:
    folder = TenantFolder.of(tmp_path, UID)
    made(folder, authorities, clock)
    (folder.path / "pki" / "scheduler.key").write_text("nonsense")

    made(folder, authorities, clock)

    key = keys.load(folder.read("pki/scheduler.key") or b"")
    assert certificates.load(folder.read("pki/scheduler.crt") or b"")[0].public_key() == key.public_key()


def test_kubeconfigs_name_files_so_that_renewed_certificates_are_found(
    tmp_path: Path, authorities: Authorities, clock: Clock
) -> None:
    folder = TenantFolder.of(tmp_path, UID)
    made(folder, authorities, clock)

    config = yaml.safe_load(folder.read("controller-manager.conf") or b"")

    assert config["users"][0]["user"] == {
        "client-certificate": str(folder.path / "pki/controller-manager.crt"),
        "client-key": str(folder.path / "pki/controller-manager.key"),
    }
    assert config["clusters"][0]["cluster"]["server"] == "https://192.0.2.10:6443"


@pytest.mark.parametrize("days", [(0, 370, 0), (0, -3650, 0), (370, 0, 370), (0, -20000, 0)])
def test_a_wrong_clock_leaves_no_certificate_that_is_not_valid_yet(
    tmp_path: Path, authorities: Authorities, clock: Clock, days: tuple[int, ...]
) -> None:
    folder, right = TenantFolder.of(tmp_path, UID), clock.date + timedelta(hours=1)
    for each in days:
        clock.date = right + timedelta(days=each)
        made(folder, authorities, clock)
        files = {name: text for name, text in content(folder).items() if name.endswith(".crt")}
        for name, text in files.items():
            certificate = certificates.load(text)[0]
            assert certificate.not_valid_before_utc <= right, name
            assert each < 0 or clock.date < certificate.not_valid_after_utc, name
    before = content(folder)
    made(folder, authorities, clock)
    assert content(folder) == before
