from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nagaya.supervision.errors import InvalidSpec
from nagaya.supervision.spec import Limits, ProcessSpec
from support.subtest_cases import subtest_cases

SPEC = ProcessSpec("etcd", ("/bin/etcd", "--name=x"), {"TOKEN": "very-secret"})


@subtest_cases("name", ["", ".", "..", "../x", "a/b", "-a", "a-", ".hidden", "A", "a b", "a\n", "ä", "a" * 129])
def test_a_name_that_could_leave_the_folder_is_refused(name: str) -> None:
    with pytest.raises(InvalidSpec, match="cannot be the name of a process"):
        ProcessSpec(name, ("/bin/true",))


@pytest.mark.parametrize("name", ["a", "kube-apiserver", "3f2a.kube-apiserver", "a" * 128])
def test_names_of_components_are_accepted(name: str) -> None:
    assert ProcessSpec(name, ("/bin/true",)).name == name


@pytest.mark.parametrize("command", [(), ("true",), ("./true",)])
def test_a_program_is_named_by_its_absolute_path(command: tuple[str, ...]) -> None:
    with pytest.raises(InvalidSpec, match="absolute path"):
        ProcessSpec("a", command)


@pytest.mark.parametrize(
    ("command", "environment"),
    [(("/bin/a\0b",), {}), (("/bin/a",), {"A": "\0"}), (("/bin/a",), {"A=B": ""}), (("/bin/a",), {"": "x"})],
)
def test_words_that_no_process_can_be_given_are_refused(command: tuple[str, ...], environment: dict[str, str]) -> None:
    with pytest.raises(InvalidSpec, match="no process can be given"):
        ProcessSpec("a", command, environment)


def test_what_a_process_cannot_be_changed_in_changes_the_digest() -> None:
    changed = [
        replace(SPEC, command=("/bin/etcd", "--name=y")),
        replace(SPEC, environment={"TOKEN": "other"}),
        replace(SPEC, files_hash="1"),
        replace(SPEC, folder=Path("/var")),
        replace(SPEC, limits=Limits(memory=1)),
        replace(SPEC, limits=Limits(open_files=1)),
        replace(SPEC, limits=Limits(oom_score=1)),
    ]
    assert len({SPEC.digest, *(spec.digest for spec in changed)}) == len(changed) + 1


def test_a_probe_or_a_grace_can_change_without_a_restart() -> None:
    async def probe() -> bool:
        return True

    assert replace(SPEC, ready=probe, grace=1.0).digest == SPEC.digest


def test_a_spec_that_is_printed_does_not_show_its_environment() -> None:
    assert "very-secret" not in repr(SPEC)
    assert "very-secret" not in SPEC.digest
