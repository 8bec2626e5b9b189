"""`nagaya proxmox connect` and `check` as a new user runs them: real processes, real HTTPS, a terminal."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from nagaya.infrastructure.proxmox.client import Facts, Proxmox, Token, Trust, endpoint
from nagaya.world import World
from support.controllers_process import RUNNING, Controllers
from support.proxmox_commands import Desk, desk
from support.pveum import run_all

pytestmark = pytest.mark.long("starts Nagaya as users do, several processes one after the other")


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with desk(tmp_path_factory.mktemp("desk")) as made:
        yield made


def root(user: Desk) -> Proxmox:
    id, _, secret = user.token.rpartition("=")
    return Proxmox(Facts((endpoint(user.url),), Token(id, secret), Trust(insecure=True)), World())


async def tokens(user: Desk) -> list[str]:
    client = root(user)
    try:
        if "nagaya@pve" not in await client.access.users():
            return []
        return [f"nagaya@pve!{name}" for name in await client.access.tokens("nagaya@pve")]
    finally:
        await client.close()


async def test_a_new_user_gets_from_nothing_to_a_connection_that_is_ready(user: Desk) -> None:
    # The management API does not know the kinds yet: said before anything is made.
    early = user.connect("--fingerprint", user.fingerprint, "--yes")
    assert early.returncode == 4, early
    assert "nagaya crds --only infrastructure-proxmox" in early.stderr
    assert await tokens(user) == []

    with Controllers(user.kubeconfig, "--install-crds", "--only", "core,ipam,infrastructure-proxmox") as controllers:
        controllers.says(RUNNING)

        # Nobody vouches for the certificate, and there is nobody to ask.
        unknown = user.connect("--yes")
        assert unknown.returncode == 5, unknown
        assert user.fingerprint in unknown.stderr
        assert "--fingerprint" in unknown.stderr
        assert await tokens(user) == []

        plan = user.connect("--fingerprint", user.fingerprint, "--dry-run")
        assert plan.returncode == 0, plan
        assert "make the role NagayaMachines" in plan.stdout
        assert await tokens(user) == []

        # At a terminal: the certificate is shown, the password is not, the plan is confirmed.
        code, said = user.at_a_terminal(
            {"Is this the certificate of your host": "y", "Password of root@pam": "demo-password", "Do this": "y"},
            *("proxmox", "connect", user.url.removeprefix("https://") + "/api2/json", "--user", "root@pam"),
        )
        assert code == 0, said
        assert "ProxmoxConnection default/proxmox is ready." in said
        assert "Hosts are recognised by the authority of their cluster from now on" in said
        assert "demo-password" not in said
        (first,) = await tokens(user)
        assert first in said

        again = user.connect("--yes", "--wait", "30")
        assert again.returncode == 0, again
        assert "Nothing to do" in again.stdout
        assert await tokens(user) == [first]

        checked = user.nagaya("proxmox", "check")
        assert checked.returncode == 0, checked
        told = json.loads(user.nagaya("proxmox", "check", "proxmox", "-o", "json").stdout)
        assert told[0]["good"]
        assert {"credentials", "version", "quorum", "hosts", "privileges", "templates", "clocks"} <= {
            each["what"] for each in told[0]["checks"]
        }

        rotated = user.connect("--rotate", "--yes", "--wait", "30")
        assert rotated.returncode == 0, rotated
        (second,) = await tokens(user)
        assert second != first
        checked = user.nagaya("proxmox", "check")
        assert checked.returncode == 0, checked

        # Somebody takes a right away: the check names it, and what it prints brings it back.
        client = root(user)
        await client.access.update_role("NagayaNetwork", ["SDN.Audit"])
        bad = user.nagaya("proxmox", "check")
        assert bad.returncode == 1, bad
        assert "SDN.Use on /sdn/zones/localnetwork/vmbr0" in bad.stdout
        assert "pveum role add NagayaNetwork" in bad.stdout
        mended = user.connect("--yes", "--wait", "90")
        assert mended.returncode == 0, mended
        assert "add to the role NagayaNetwork: SDN.Use" in mended.stdout
        assert user.nagaya("proxmox", "check").returncode == 0
        await client.close()

        for each in (plan, again, rotated, mended, bad, checked):
            assert "demo-password" not in each.stdout + each.stderr
            assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-", each.stdout + each.stderr)
        controllers.stop(signal.SIGTERM)
        assert not re.search(r"PVEAPIToken|demo-password", controllers.said)


async def test_manifests_are_printed_instead_and_work(user: Desk) -> None:
    before = await tokens(user)
    done = user.connect("--fingerprint", user.fingerprint, "--output", "yaml", "--yes", "--name", "printed")
    assert done.returncode == 0, done
    secret, connection = yaml.safe_load_all(done.stdout)
    assert (secret["kind"], connection["kind"]) == ("Secret", "ProxmoxConnection")
    assert connection["spec"]["credentialsRef"] == {"name": "printed"}
    assert len(await tokens(user)) == len(before) + 1
    assert "make the token" in done.stderr


async def test_a_token_made_by_the_printed_commands_is_stored_without_a_password(user: Desk, tmp_path: Path) -> None:
    scope = ("--pool", "by-hand", "--storage", "local-lvm", "--iso-storage", "local", "--bridge", "vmbr0")
    scope = (*scope, "--template", "9001", "--service-user", "by-hand@pve")
    printed = user.nagaya("proxmox", "connect", user.url, *scope, "--print-commands")
    assert printed.returncode == 0, printed
    client = root(user)
    answers = await run_all(client, printed.stdout.splitlines())
    await client.close()
    secret = tmp_path / "secret"
    secret.write_text(next(str(each["value"]) for each in answers if isinstance(each, dict) and "value" in each))
    words = ("--token", "by-hand@pve!nagaya", "--secret-file", str(secret), "--fingerprint", user.fingerprint)
    done = user.nagaya("proxmox", "connect", user.url, *scope, *words, "-o", "yaml", "--name", "by-hand")
    assert done.returncode == 0, done
    stored, connection = yaml.safe_load_all(done.stdout)
    assert connection["spec"]["pool"] == "by-hand"
    assert stored["data"].keys() == {"token", "secret", "url", "root_ca"}
    assert secret.read_text() not in done.stderr

    wrong = user.nagaya("proxmox", "connect", user.url, *words, "-o", "yaml", "--pool", "nagaya")
    assert wrong.returncode == 7, wrong
    assert "lacks VM.Audit on /pool/nagaya" in wrong.stderr
    assert "pveum acl modify /pool/nagaya --users by-hand@pve" in wrong.stderr


@pytest.mark.parametrize(
    ("password", "arguments", "code", "says"),
    [
        ("wrong", (), 6, "The password is wrong"),
        ("demo-password", ("--storage", "nowhere"), 1, "There is no storage for disks"),
        ("demo-password", ("--user", "somebody@pam"), 6, "written name@realm"),
    ],
    ids=["password", "storage", "user"],
)
async def test_failures_have_exit_codes_and_say_what_to_do(
    user: Desk, tmp_path: Path, password: str, arguments: tuple[str, ...], code: int, says: str
) -> None:
    file = tmp_path / "password"
    file.write_text(password)
    before = await tokens(user)
    words = ("--fingerprint", user.fingerprint, "-o", "yaml", "--yes", *arguments)
    done = user.nagaya("proxmox", "connect", user.url, "--password-file", str(file), *words)
    assert done.returncode == code, done
    assert says in done.stderr
    assert await tokens(user) == before


async def test_another_fingerprint_than_the_one_that_was_given_ends_it_before_the_password_is_sent(user: Desk) -> None:
    done = user.connect("--fingerprint", "AB:" * 31 + "AB", "-o", "yaml", "--yes")
    assert done.returncode == 5, done
    assert user.fingerprint in done.stderr


async def test_saying_no_changes_nothing(user: Desk) -> None:
    before = await tokens(user)
    words = ("proxmox", "connect", user.url, "--fingerprint", user.fingerprint, "-o", "yaml")
    code, said = user.at_a_terminal({"Password of": "demo-password", "Do this": "n"}, *words)
    assert code == 3, said
    assert "Nothing was changed." in said
    assert await tokens(user) == before


async def test_the_older_release_is_given_the_rights_that_it_knows(tmp_path: Path) -> None:
    with desk(tmp_path, "--version", "8.4") as older:
        done = older.connect("--fingerprint", older.fingerprint, "-o", "yaml", "--yes")
        assert done.returncode == 0, done
        client = root(older)
        try:
            roles = await client.access.roles()
        finally:
            await client.close()
    assert "VM.Monitor" in roles["NagayaMachines"]
    assert not any(each.startswith("VM.GuestAgent.") for each in roles["NagayaMachines"])
