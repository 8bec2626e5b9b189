"""What to type first in another terminal."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from nagaya.cli.other_terminal import exports


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    bin = tmp_path / "my programs"
    bin.mkdir()
    (bin / "nagaya").touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(bin / "python"))
    return bin


def test_a_shell_that_would_not_find_the_program_is_told_where_it_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    lines = exports(Path("/data/kubeconfig"))
    assert lines == [f"export PATH='{folder}':\"$PATH\"", "export KUBECONFIG=/data/kubeconfig"]


def test_a_shell_that_finds_the_program_is_told_of_the_kubeconfig_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(folder))
    assert exports(Path("/data/kubeconfig")) == ["export KUBECONFIG=/data/kubeconfig"]
