from __future__ import annotations

from click.testing import CliRunner

from nagaya.cli.main import main
from nagaya.cli.simulate import addresses


def test_hosts_take_ports_one_after_the_other_or_any() -> None:
    assert addresses(("127.0.0.1", 8006), ["a", "b"]) == {"a": ("127.0.0.1", 8006), "b": ("127.0.0.1", 8007)}
    assert addresses(("127.0.0.1", 0), ["a", "b"]) == {"a": ("127.0.0.1", 0), "b": ("127.0.0.1", 0)}


def test_a_data_center_without_hosts_is_refused() -> None:
    done = CliRunner().invoke(main, ["simulate", "proxmox", "--hosts", "0"])
    assert done.exit_code == 2
    assert "--hosts" in done.output


def test_recorded_answers_are_of_one_version() -> None:
    done = CliRunner().invoke(main, ["simulate", "proxmox", "--layout", "lab", "--version", "8.4"])
    assert done.exit_code == 2
    assert "recorded from 9.2: leave out --version" in done.output
