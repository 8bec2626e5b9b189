"""Starts of the embedded server by a clock that is wrong, and by the right one afterwards."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from nagaya.apiserver.server import ApiServer, Config
from nagaya.cli.in_process import InProcessTransport
from nagaya.kube.transport import Call
from nagaya.world import World

NOW = datetime(2026, 11, 19, 12, tzinfo=UTC)
AHEAD, BEHIND, BEFORE = timedelta(days=370), -timedelta(days=3650), -timedelta(days=200)
DAWN = datetime(1970, 1, 2, tzinfo=UTC) - NOW


class At:
    """A clock that says some time."""

    def __init__(self, moment: datetime) -> None:
        self.moment = moment

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return 1000.0

    def sleep(self, seconds: float) -> None:
        raise NotImplementedError


async def start(data: Path, moment: datetime) -> list[x509.Certificate]:
    """Start, have a client in the process ask, stop. Returns what clients have to trust at that moment."""
    clock = At(moment)
    server = await ApiServer.start(Config(data_dir=data), World(clock=clock))  # type: ignore[arg-type] # enough of one
    try:
        transport = InProcessTransport(server)
        answer = await transport.send(Call("GET", "/api/v1/namespaces/default", timeout=None))
        assert answer.status == 200, answer.body
        body = b'{"metadata": {"generateName": "at-"}}'
        call = Call("POST", "/api/v1/namespaces/default/configmaps", body=body, timeout=None)
        assert (await transport.send(call)).status == 201
        shown = transport._certificate
        identity = server.identity
        texts = (identity.authority.certificate_pem, identity.serving_certificate, identity.admin_certificate)
        return [*map(x509.load_pem_x509_certificate, texts), x509.load_der_x509_certificate(shown)]
    finally:
        await server.stop()


def valid(certificates: list[x509.Certificate], moment: datetime) -> bool:
    return all(each.not_valid_before_utc <= moment < each.not_valid_after_utc for each in certificates)


@pytest.mark.parametrize(
    "jumps",
    [
        (timedelta(), AHEAD, timedelta()),
        (AHEAD, timedelta()),
        (AHEAD, timedelta(), 2 * AHEAD, timedelta()),
        (timedelta(), BEFORE, timedelta()),
        (BEFORE, timedelta(), AHEAD),
        (BEHIND, timedelta()),
        (DAWN, timedelta(), AHEAD, timedelta()),
    ],
)
async def test_a_wrong_clock_at_a_start_locks_nobody_out(tmp_path: Path, jumps: tuple[timedelta, ...]) -> None:
    authorities = set()
    for number, jump in enumerate(jumps):
        moment = NOW + timedelta(hours=number) + jump
        found = await start(tmp_path, moment)
        assert valid(found, moment)
        authorities.add(found[0])
        if jump > timedelta():
            assert valid(found, NOW), "the clock may be put right while it runs"
            assert valid(found, moment)
    assert len(authorities) == 1, "an authority is never replaced"


@pytest.mark.parametrize("jump", [BEHIND, DAWN, timedelta(days=4000)])
async def test_a_clock_by_which_nobody_would_trust_the_authority_is_refused(tmp_path: Path, jump: timedelta) -> None:
    first = await start(tmp_path, NOW)
    before = {path.name: path.read_bytes() for path in (tmp_path / "pki").iterdir()}
    word = "behind" if jump < timedelta() else "past"
    with pytest.raises(ValueError, match=rf"ca\.crt: the authority is valid from .* days {word} .* Set the clock"):
        await start(tmp_path, NOW + jump)
    assert {path.name: path.read_bytes() for path in (tmp_path / "pki").iterdir()} == before
    assert await start(tmp_path, NOW) != []
    assert (await start(tmp_path, NOW))[:3] == first[:3], "nothing is renewed without need"


async def test_a_pair_of_an_earlier_version_that_is_not_valid_yet_is_replaced(tmp_path: Path) -> None:
    first = await start(tmp_path, NOW)
    from nagaya.apiserver import identity
    from nagaya.pki.certificates import CertificateSpec, to_pem
    from nagaya.pki.keys import to_pem as key_pem

    loaded = identity.load_or_make(tmp_path / "pki", At(NOW))  # type: ignore[arg-type] # enough of a clock
    certificate, key = loaded.authority.issue_pair(CertificateSpec("nagaya-admin"), At(NOW + AHEAD))  # type: ignore[arg-type]
    (tmp_path / "pki" / "admin.crt").write_bytes(to_pem(certificate))
    (tmp_path / "pki" / "admin.key").write_bytes(key_pem(key))
    found = await start(tmp_path, NOW)
    assert valid(found, NOW)
    assert found[:2] == first[:2]


@pytest.mark.parametrize(
    ("jump", "words"),
    [
        (AHEAD, "is 370 days ahead of the newest write (2026-11-19 12:00 UTC)"),
        (BEFORE, "is 200 days behind the newest write (2026-11-19 12:00 UTC)"),
        (timedelta(hours=-3), ""),
        (timedelta(days=30), ""),
    ],
)
async def test_a_clock_that_jumped_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, jump: timedelta, words: str
) -> None:
    caplog.set_level(logging.WARNING)
    await start(tmp_path, NOW)
    await start(tmp_path, NOW + jump)
    reported = [each.getMessage() for each in caplog.records if "the clock of this machine" in each.getMessage()]
    assert len(reported) == bool(words)
    assert words in "".join(reported)
