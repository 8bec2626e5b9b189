from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from nagaya.controlplane.hosted.data_store.managed_etcd import ManagedEtcd, Ports
from nagaya.pki import certificates
from nagaya.pki.keys import load
from nagaya.world import World
from support.standing_clock import StandingClock

PROGRAM = Path("/opt/etcd")


class LaterClock(StandingClock):
    later = timedelta()

    def now(self) -> datetime:
        return super().now() + self.later


@pytest.fixture
def clock() -> LaterClock:
    return LaterClock()


def prepare(folder: Path, clock: LaterClock, before: ManagedEtcd | None = None) -> ManagedEtcd:
    return ManagedEtcd.prepare(folder, PROGRAM, World(clock), before=before)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_everything_is_made_once_and_stays(tmp_path: Path, clock: LaterClock) -> None:
    first = prepare(tmp_path, clock)
    before = contents(tmp_path)
    second = prepare(tmp_path, clock)
    assert contents(tmp_path) == before
    assert second.spec().digest == first.spec().digest
    assert second.endpoint == first.endpoint


def test_what_was_prepared_is_used_again_while_its_files_are_the_same(tmp_path: Path, clock: LaterClock) -> None:
    first = prepare(tmp_path, clock)
    clock.later = timedelta(days=100)
    assert prepare(tmp_path, clock, first) is first
    assert first.driver() is first.driver()


@pytest.mark.parametrize("file", ["ports.json", "pki/etcd/server.crt", "pki/etcd/peer.key", "pki/root-client.crt"])
def test_a_file_that_is_gone_is_made_anew(tmp_path: Path, clock: LaterClock, file: str) -> None:
    first = prepare(tmp_path, clock)
    (tmp_path / file).unlink()
    second = prepare(tmp_path, clock, first)
    assert second is not first
    assert (tmp_path / file).exists()
    assert prepare(tmp_path, clock, second) is second


def test_a_file_that_somebody_broke_is_made_anew(tmp_path: Path, clock: LaterClock) -> None:
    first = prepare(tmp_path, clock)
    (tmp_path / "pki/root-client.crt").write_bytes(b"nothing")
    second = prepare(tmp_path, clock, first)
    assert certificates.load((tmp_path / "pki/root-client.crt").read_bytes())
    assert second.client.certificate == (tmp_path / "pki/root-client.crt").read_bytes()


def test_the_folder_of_data_is_made_again_if_it_is_gone(tmp_path: Path, clock: LaterClock) -> None:
    first = prepare(tmp_path, clock)
    (tmp_path / "data").rmdir()
    prepare(tmp_path, clock, first)
    assert (tmp_path / "data").is_dir()


def test_keys_and_data_are_private(tmp_path: Path, clock: LaterClock) -> None:
    prepare(tmp_path, clock)
    for path in [*tmp_path.rglob("*.key"), tmp_path / "data", tmp_path / "pki"]:
        assert path.stat().st_mode & 0o077 == 0, path


def test_certificates_are_renewed_in_their_place_without_a_restart(tmp_path: Path, clock: LaterClock) -> None:
    first = prepare(tmp_path, clock)
    before = contents(tmp_path)
    clock.later = timedelta(days=300)
    second = prepare(tmp_path, clock, first)
    after = contents(tmp_path)
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {"pki/etcd/server.crt", "pki/etcd/peer.crt", "pki/root-client.crt"}
    assert second.spec().digest == first.spec().digest
    for name in changed:
        certificate = certificates.load(after[name])[0]
        assert certificate.public_key() == load(after[name.replace(".crt", ".key")]).public_key()


def test_a_clock_that_was_ahead_when_everything_was_made_locks_nobody_out(tmp_path: Path, clock: LaterClock) -> None:
    clock.later = timedelta(days=370)
    prepare(tmp_path, clock)
    clock.later = timedelta()
    prepare(tmp_path, clock)
    made = [certificates.load(content)[0] for name, content in contents(tmp_path).items() if name.endswith(".crt")]
    assert len(made) > 2
    assert all(each.not_valid_before_utc <= clock.now() < each.not_valid_after_utc for each in made)


def test_a_half_written_authority_is_made_anew_as_nobody_can_trust_it_yet(tmp_path: Path, clock: LaterClock) -> None:
    prepare(tmp_path, clock)
    (tmp_path / "pki/etcd/ca.crt").unlink()
    etcd = prepare(tmp_path, clock)
    assert certificates.load((tmp_path / "pki/etcd/ca.crt").read_bytes())[0] == etcd.authority.certificate


def test_the_command_line_closes_the_store_to_strangers(tmp_path: Path, clock: LaterClock) -> None:
    etcd = replace(prepare(tmp_path, clock), ports=Ports(1234, 1235))
    command = etcd.spec().command
    assert command[0] == str(PROGRAM)
    assert "--client-cert-auth=true" in command
    assert "--listen-client-urls=https://127.0.0.1:1234" in command
    assert "--listen-peer-urls=https://127.0.0.1:1235" in command
    assert "--peer-cert-allowed-cn=nagaya-etcd-peer" in command
    peer = certificates.load((tmp_path / "pki/etcd/peer.crt").read_bytes())[0]
    assert peer.subject.rfc4514_string() == "CN=nagaya-etcd-peer"
