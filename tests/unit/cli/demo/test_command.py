"""`nagaya demo` where its data folder is of no use."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from nagaya.cli.main import main


@pytest.mark.parametrize("command", [("demo",), ("up", "--demo"), ("demo", "--delete")])
def test_a_data_folder_that_cannot_be_written_is_told_with_what_to_do(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "demo.log").mkdir()
    done = CliRunner().invoke(main, [*command, "--data-dir", str(tmp_path)])
    assert done.exit_code == 1
    assert f"Error: {tmp_path} cannot be used as a data folder: cannot write {tmp_path}/demo.log (" in done.output
    assert "choose another with --data-dir" in done.output


def test_a_folder_in_the_place_of_which_is_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = CliRunner().invoke(main, ["demo", "--data-dir", str(tmp_path / "file" / "data")])
    assert (done.exit_code, "Not a directory" in done.output) == (1, True)


def test_deleting_what_never_was_makes_nothing(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["demo", "--delete", "--data-dir", str(tmp_path / "data")])
    assert done.exit_code == 0
    assert "There is no demo" in done.output
    assert not (tmp_path / "data").exists()
