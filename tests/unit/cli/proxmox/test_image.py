"""`nagaya proxmox image`: what can be said without a Proxmox VE."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from nagaya.cli.main import main
from nagaya.cli.proxmox.image import _DISTRIBUTIONS
from nagaya.cli.proxmox.image_session import Teller
from nagaya.infrastructure.proxmox.image.distributions import DISTRIBUTIONS
from support.subtest_cases import subtest_cases

IMAGE = ("--url", "https://x.example/a.qcow2", "--checksum", "ab" * 64)
NOWHERE = ("--url-api", "https://127.0.0.1:1", "--token", "root@pam!demo", "--insecure", "a test")


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["proxmox", "image", *arguments])


@subtest_cases(
    ("arguments", "words"),
    [
        (("add",), "Give either --distribution or --url."),
        (("add", "--distribution", "debian-13", *IMAGE), "Give either --distribution or --url."),
        (("add", "--distribution", "debian-13", "--kubernetes", "v1.36.3"), "have no Kubernetes in them"),
        (("add", "--url", "https://x.example/a.qcow2", "--checksum", "abc"), "The checksum has 3 digits"),
        (("add", *IMAGE, "--vmid-range", "5-1"), "is no range of VMIDs"),
        (("add", *IMAGE, "--url-api", "pve1"), "with either --token or --user"),
        (("list", "--token", "root@pam!demo"), "belong to --url-api"),
        (("list", "--connection", "a", *NOWHERE), "Give --connection alone"),
        (("remove",), "Missing argument"),
        (("prune", "--keep", "-1"), "--keep"),
    ],
    ids=["nothing", "both", "kubernetes", "checksum", "range", "nobody", "no-url", "two-ways", "no-name", "keep"],
)
def test_a_command_line_that_makes_no_sense_is_refused(arguments: tuple[str, ...], words: str) -> None:
    done = call(*arguments)
    assert done.exit_code == 2, done.output
    assert words in " ".join(done.output.replace("│", " ").split())


def test_a_proxmox_that_does_not_answer_is_told(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hidden-value\n")
    done = call("list", *NOWHERE, "--secret-file", str(secret))
    assert done.exit_code == 5
    assert "no endpoint answers" in done.output
    assert "hidden-value" not in done.output


def test_an_image_that_cannot_be_imported_is_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x")
    arguments = ("--url", "https://x.example/a.qcow2.xz", "--checksum", "ab" * 64)
    done = call("add", *arguments, *NOWHERE, "--secret-file", str(secret))
    assert done.exit_code == 1
    assert "Proxmox VE does not unpack images" in done.output


def test_what_is_needed_for_a_plain_image_is_printed() -> None:
    done = call("bootstrap-files", "--version", "v1.35.4", "--origin", "ubuntu-24.04", "--bridge", "vmbr5")
    assert done.exit_code == 0
    machine, plane, config = yaml.safe_load_all(done.output)
    assert machine["spec"]["template"]["spec"]["templateSelector"] == {"matchTags": ["ubuntu-24.04"]}
    assert machine["spec"]["template"]["spec"]["network"]["networkDevices"][0]["bridge"] == "vmbr5"
    assert machine["metadata"]["name"] == "ubuntu-24-04"
    assert plane["spec"]["version"] == "v1.35.4"
    assert plane["spec"]["machineTemplate"]["metadata"]["annotations"] == {"bootstrap.nagaya.dev/install": "packages"}
    assert any("qemu-guest-agent" in each for each in config["spec"]["template"]["spec"]["preKubeadmCommands"])


def test_an_image_with_kubernetes_needs_its_version_as_a_tag_and_nothing_else() -> None:
    (machine,) = yaml.safe_load_all(call("bootstrap-files", "--baked").output)
    chosen = machine["spec"]["template"]["spec"]["templateSelector"]
    assert chosen == {"matchTags": ["debian-13"], "matchKubernetesVersion": True}


def test_the_menu_knows_the_distributions_that_there_are() -> None:
    assert set(_DISTRIBUTIONS) == set(DISTRIBUTIONS)


def test_create_is_another_word_for_add() -> None:
    assert "Make templates from an image" in call("create", "--help").output


def test_how_far_something_is_is_told_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    tell = Teller()
    for far in (0, 1, 5, 10, 12, 40, 100, 3):
        tell("pve1", f"download: {far}%")
    tell("", "something else")
    said = capsys.readouterr().err.splitlines()
    assert said == [*(f"pve1: download: {far}%" for far in (0, 10, 40, 100, 3)), "something else"]
