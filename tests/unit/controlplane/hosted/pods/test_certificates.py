"""The files of programs in pods: kept, renewed, and never more than a program needs."""

from __future__ import annotations

import base64
from dataclasses import replace
from datetime import datetime, timedelta

from nagaya.api.untyped import Untyped
from nagaya.clusters.certificates.kubeconfig import read
from nagaya.controlplane.hosted.kubernetes.pods import secret_key
from nagaya.controlplane.hosted.pods import certificates, tenancies
from nagaya.controlplane.hosted.pods.certificates import ProgramFiles
from nagaya.pki import certificates as pem
from nagaya.pki.kubeadm.identities import CONTROLLER_MANAGER
from nagaya.pki.kubeadm.inputs import Inputs
from nagaya.world import SystemClock
from support.seen_pods import CLOCK, given, seen


class Later(SystemClock):
    """Some days from now."""

    def __init__(self, days: float) -> None:
        self._days = days

    def now(self) -> datetime:
        return super().now() + timedelta(days=self._days)


FOR = tenancies.files_for(seen(), given())
FIRST = certificates.ensure({}, FOR.authorities, FOR.inputs, dict(FOR.servers), CLOCK)


def again(days: float = 0, inputs: Inputs = FOR.inputs) -> ProgramFiles:
    return certificates.ensure(FIRST.files, FOR.authorities, inputs, dict(FOR.servers), Later(days))


def test_what_is_good_stays_byte_for_byte() -> None:
    second = again()
    assert second.files == FIRST.files
    assert second.renewed == ()
    assert FIRST.due is not None
    assert FIRST.due > CLOCK.now()


def test_what_is_due_is_renewed_with_the_key_that_it_has() -> None:
    assert FIRST.due is not None
    second = again(days=(FIRST.due - CLOCK.now()).days + 2)
    assert second.renewed
    assert second.files["apiserver.key"] == FIRST.files["apiserver.key"]
    assert second.files["apiserver.crt"] != FIRST.files["apiserver.crt"]
    before, after = (read(each.files[CONTROLLER_MANAGER.file]) for each in (FIRST, second))
    assert before.key.public_key() == after.key.public_key()
    assert before.certificate != after.certificate
    assert second.due is not None
    assert second.due > FIRST.due


def test_another_name_of_the_api_gives_its_certificate_alone_anew() -> None:
    second = again(inputs=replace(FOR.inputs, api_server_sans=(*FOR.inputs.api_server_sans, "more.example")))
    changed = {name for name, content in second.files.items() if FIRST.files[name] != content}
    assert changed == {"apiserver.crt"}
    names = pem.load(second.files["apiserver.crt"])[0]
    assert "more.example" in str(names.extensions)


def test_the_api_is_recognised_by_every_name_that_it_has() -> None:
    names = str(pem.load(FIRST.files["apiserver.crt"])[0].extensions)
    for each in ("one-kube-apiserver.tenants.svc", "localhost", "127.0.0.1", "192.0.2.10", "10.96.0.1"):
        assert each in names
    config = read(FIRST.files[CONTROLLER_MANAGER.file])
    assert config.server == "https://one-kube-apiserver.tenants.svc:6443"


def test_files_are_found_again_in_secrets_and_damaged_ones_are_made_anew() -> None:
    wanted = list(certificates.wanted(identity for identity, _ in FOR.servers))
    data = {secret_key(name): base64.b64encode(FIRST.files[name]).decode() for name in wanted}
    one = Untyped({"metadata": {"name": "a"}, "data": dict(list(data.items())[:3])})
    other = Untyped({"metadata": {"name": "b"}, "data": dict(list(data.items())[3:])})
    assert certificates.kept([one, other], wanted) == {name: FIRST.files[name] for name in wanted}

    broken = Untyped({"metadata": {"name": "a"}, "data": {**data, "apiserver.key": "?"}})
    found = certificates.kept([broken], wanted)
    assert "apiserver.key" not in found
    made = certificates.ensure(found, FOR.authorities, FOR.inputs, dict(FOR.servers), CLOCK)
    assert made.files["apiserver.key"] != FIRST.files["apiserver.key"]
    assert made.files["front-proxy-client.crt"] == FIRST.files["front-proxy-client.crt"]


def test_what_a_tenant_writes_around_a_certificate_is_dropped() -> None:
    junk = b"kind: Config\nusers: [{user: {exec: {command: sh}}}]\n"
    written = {
        name: junk + content if name.endswith((".crt", ".key")) else content for name, content in FIRST.files.items()
    }
    second = certificates.ensure(written, FOR.authorities, FOR.inputs, dict(FOR.servers), CLOCK)
    assert second.files == FIRST.files
