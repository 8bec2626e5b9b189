"""What hosts say of their certificates."""

from __future__ import annotations

from nagaya.pki.certificates import to_pem
from nagaya.simulators.proxmox.cluster.certificates import AUTHORITY_FILE, HOST_FILE, described
from nagaya.simulators.proxmox.layouts.demo import demo
from nagaya.simulators.proxmox.web.certificates import authority, host_certificate
from nagaya.world import World
from support.proxmox_lab import proxmox_lab, token
from support.virtual_run import run, virtual_world

INFO = "/nodes/pve1/certificates/info"


def test_all_hosts_name_one_authority_and_each_its_own_certificate() -> None:
    async def main() -> None:
        world = virtual_world()
        async with proxmox_lab(demo(world), world=world) as lab:
            one, two = [await lab.data("GET", f"/nodes/{name}/certificates/info") for name in ("pve1", "pve2")]
            assert [each["filename"] for each in one] == [AUTHORITY_FILE, HOST_FILE]
            assert one[0] == two[0]
            assert one[1]["fingerprint"] != two[1]["fingerprint"]
            assert one[1]["issuer"] == one[0]["subject"]

    run(main())


def test_two_data_centers_of_one_name_have_different_authorities() -> None:
    async def main() -> None:
        prints = []
        for seed in (1, 2, 1):
            async with proxmox_lab(world=virtual_world(seed)) as lab:
                prints.append((await lab.data("GET", INFO))[0]["fingerprint"])
        assert prints[0] != prints[1]
        assert prints[0] == prints[2]
        assert len(prints[0].split(":")) == 32

    run(main())


def test_certificates_need_no_right_but_the_host() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            assert (await lab.ask("GET", INFO, headers=token("alice@pve!sep"))).status == 200
            assert (await lab.ask("GET", INFO, headers={})).status == 401
            assert (await lab.ask("GET", "/nodes/pve2/certificates/info")).status == 595
            assert await lab.data("GET", "/nodes/pve2/certificates") == [
                {"name": "acme"},
                {"name": "custom"},
                {"name": "info"},
            ]

    run(main())


def test_a_certificate_that_was_made_is_described_as_it_is() -> None:
    clock = World().clock
    signer = authority(clock)
    made = host_certificate(signer, "pve1", ["192.0.2.11", "2001:db8::1"], clock)
    told = described(HOST_FILE, made.pair.certificate.decode())
    assert told["fingerprint"] == made.fingerprint
    assert told["san"] == ["pve1", "localhost", "192.0.2.11", "2001:0db8:0000:0000:0000:0000:0000:0001"]
    assert told["subject"] == "/O=Proxmox Virtual Environment/CN=pve1.localdomain"
    assert told["issuer"] == described(AUTHORITY_FILE, to_pem(signer.certificate).decode())["subject"]
    assert (told["public-key-type"], told["public-key-bits"]) == ("id-ecPublicKey", 256)
    assert told["notbefore"] < clock.now().timestamp() < told["notafter"]
