"""The emulator gives the answers that PVE 9.2 gave: every recorded case, in the order in which they were recorded."""

from __future__ import annotations

import tomllib
from importlib import resources

import pytest

from support.proxmox_recorded.case import FOLDER, files
from support.proxmox_recorded.player import played

FILES = sorted(path.name[:2] for path in FOLDER.glob("*.jsonl"))
KNOWN = tomllib.loads(resources.files("nagaya.simulators.proxmox").joinpath("known_differences.toml").read_text())


@pytest.mark.parametrize("file", FILES)
def test_the_answers_are_the_recorded_ones(file: str, subtests: pytest.Subtests) -> None:
    differences = played(file)
    for case in files()[file]:
        with subtests.test(msg=case.id):
            found = differences[case.id]
            if case.id in KNOWN:
                assert found, f"{case.id} stands among the known differences, but there is none any more"
            else:
                assert not found, "\n".join([f"{case.id} {case.title}", f"who: {case.who}", *found])


def test_known_differences_are_of_recorded_cases() -> None:
    assert KNOWN.keys() <= {case.id for cases in files().values() for case in cases}
