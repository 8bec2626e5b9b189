"""`nagaya proxmox connect` as a command line: what it takes, refuses, and prints without asking anybody."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from nagaya.cli.main import main
from support.subtest_cases import subtest_cases

HOST = "https://127.0.0.1:1"


def run(*arguments: str, given: str = "") -> Result:
    return CliRunner().invoke(main, ["proxmox", "connect", *arguments], input=given)


def test_commands_are_printed_without_asking_anybody() -> None:
    done = run("pve.example:8006/api2/json", "--print-commands", "--storage", "local-lvm", "--bridge", "vmbr0")
    assert done.exit_code == 0
    lines = done.output.splitlines()
    assert lines[0].startswith("# Run as root on any host")
    assert any(line.startswith("pveum user token add nagaya@pve nagaya --privsep 1") for line in lines)
    assert any("pveum acl modify /storage/local-lvm " in line for line in lines)
    assert "VM.GuestAgent.Audit" in done.output
    assert lines[-1].endswith("--token 'nagaya@pve!nagaya'")


def test_commands_are_for_the_version_that_is_named() -> None:
    done = run("pve", "--print-commands", "--pve-version", "8.4", "--with-images")
    assert "VM.Monitor" in done.output
    assert "VM.GuestAgent" not in done.output
    assert "Sys.AccessNetwork" in done.output
    assert run("pve", "--print-commands", "--pve-version", "newest").exit_code == 2


@subtest_cases(
    ("arguments", "says"),
    [
        (("http://pve:8006", "--dry-run"), "asked by https, not by http"),
        (("https://root:secret@pve:8006", "--dry-run"), "must hold no credentials"),
        (("pve", "--insecure", "yes", "--dry-run"), "--insecure wants a reason"),
        (("pve", "--insecure", "in a lab", "--fingerprint", "ab", "--dry-run"), "give one of"),
        (("pve", "--fingerprint", "12:34", "--dry-run"), "the fingerprint is not SHA-256"),
        (("pve", "--ca-file", "/nowhere", "--dry-run"), "cannot read /nowhere"),
        (("pve", "--token", "a@pve!b", "--rotate"), "give one of them"),
        (("pve", "--token", "a@pve!b", "--dry-run"), "--dry-run has nothing to show"),
        (("pve", "--token", "a@pve!b=secret", "--yes"), "or its secret is there, too"),
        (("pve", "--user", "root", "--yes"), "'root' has no realm: write root@pam"),
        (("pve", "--service-user", "nagaya", "--yes"), "Invalid value for --service-user: 'nagaya' has no realm"),
        (("pve", "--pool", "my pool", "--yes"), "Invalid value for --pool: 'my pool' is no name of a pool."),
        (("pve", "--pool", "", "--print-commands"), "Invalid value for --pool: '' is no name of a pool."),
        (("pve", "--template-pool", "a/b/c/d", "--dry-run"), "Invalid value for --template-pool: 'a/b/c/d' is no name"),
        (("pve",), "add --yes, or --dry-run"),
        ((), "Missing argument"),
    ],
    ids=[
        "http",
        "credentials",
        "no-reason",
        "two-trusts",
        "fingerprint",
        "file",
        "token",
        "dry-token",
        "no-token",
        "no-realm",
        "no-realm-of-service",
        "pool",
        "empty-pool",
        "deep-pool",
        "nobody",
        "nothing",
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_asked(arguments: tuple[str, ...], says: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert says in " ".join(done.output.split())
    assert not re.search("[:=]secret", done.output)


@pytest.mark.parametrize("pool", ["nagaya", "Team_1.x-y", "team/lab/nagaya"])
def test_names_of_pools_that_proxmox_takes_are_taken(pool: str) -> None:
    done = run("pve", "--pool", pool, "--print-commands")
    assert done.exit_code == 0, done.output
    assert f"/pool/{pool} " in done.output


def test_without_a_management_api_nothing_is_asked_of_proxmox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    done = run(HOST, "--yes", "--password-file", "-", given="wet & wild\n")
    assert done.exit_code == 4
    assert "Nothing was made in Proxmox VE" in done.output
    assert "wet" not in done.output


def test_a_host_that_does_not_answer_has_an_exit_code_of_its_own() -> None:
    done = run(HOST, "--yes", "--output", "yaml", "--password-file", "-", given="wet & wild\n")
    assert done.exit_code == 5
    assert f"{HOST} cannot be reached: Connection refused. See whether the host is on" in done.output


def test_the_group_has_its_commands() -> None:
    done = CliRunner().invoke(main, ["proxmox", "--help"])
    assert done.exit_code == 0
    assert all(name in done.output for name in ("connect", "check", "image"))
    assert CliRunner().invoke(main, ["proxmox", "nothing"]).exit_code == 2
