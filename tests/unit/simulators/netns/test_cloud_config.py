from __future__ import annotations

import base64
import gzip
import subprocess
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from nagaya.simulators.netns.cloud_config import CloudConfig, File, NotUnderstood, read, script_of
from support.subtest_cases import subtest_cases

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)


def understood(content: dict[str, Any]) -> CloudConfig:
    return read(b"#cloud-config\n" + yaml.safe_dump(content).encode(), {})


def file_of(**entry: Any) -> File:
    (found,) = understood({"write_files": [{"path": "/a", **entry}]}).files
    return found


def test_nothing_is_asked_by_an_empty_cloud_config() -> None:
    assert read(b"#cloud-config\n", {}) == CloudConfig()


# Without the time of day: every worker of a test run must give the same names to the cases below.
GZIPPED = gzip.compress("héllo\n".encode(), mtime=0)


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        (None, "héllo\n"),
        ("text/plain", "héllo\n"),
        ("b64", base64.b64encode("héllo\n".encode()).decode()),
        ("base64", base64.b64encode("héllo\n".encode()).decode()),
        ("gz+base64", base64.b64encode(GZIPPED).decode()),
        ("gzip+b64", base64.b64encode(GZIPPED).decode()),
        ("gzip", GZIPPED),
    ],
)
def test_files_are_decoded(encoding: str | None, content: str | bytes) -> None:
    entry: dict[str, Any] = {"content": content}
    if encoding is not None:
        entry["encoding"] = encoding
    assert file_of(**entry).content == "héllo\n".encode()


@pytest.mark.parametrize(
    ("given_", "mode"), [(None, 0o644), ("0640", 0o640), ("640", 0o640), (0o600, 0o600), ("0o755", 0o755)]
)
def test_permissions_are_octal_whether_text_or_number(given_: Any, mode: int) -> None:
    entry = {} if given_ is None else {"permissions": given_}
    assert file_of(content="x", **entry).mode == mode


def test_an_octal_literal_of_yaml_is_a_number_already() -> None:
    (found,) = read(b"#cloud-config\nwrite_files: [{path: /a, permissions: 0600}]\n", {}).files
    assert found == File("/a", b"", 0o600, "root:root", append=False)


def test_owner_append_and_defer_are_understood() -> None:
    content = [{"path": "/early", "owner": "daemon:daemon", "append": True}, {"path": "/late", "defer": True}]
    found = understood({"write_files": content})
    assert found.files == (File("/early", b"", 0o644, "daemon:daemon", append=True),)
    assert found.late_files == (File("/late", b""),)


def test_commands_are_one_script_in_which_lists_are_words_and_strings_are_shell() -> None:
    found = understood({"runcmd": [["echo", "it's $HOME", 3], "echo $HOME | cat"], "bootcmd": ["true"]})
    assert found.run == "#!/bin/sh\n'echo' 'it'\\''s $HOME' '3'\necho $HOME | cat\n"
    assert found.boot == "#!/bin/sh\ntrue\n"


@settings(max_examples=40)
@given(st.lists(WORDS, min_size=1, max_size=4))
def test_words_reach_the_program_as_they_are(words: list[str]) -> None:
    script = script_of([["printf", "%s\\0", *words]], "runcmd")
    done = subprocess.run(["sh", "-c", script], capture_output=True, check=True, timeout=60)
    assert done.stdout.decode() == "".join(f"{word}\0" for word in words)


def test_what_a_namespace_does_not_have_is_noted() -> None:
    found = understood({"users": [{"name": "x"}], "ntp": {"enabled": True}, "mounts": [["a", "b"]], "runcmd": ["true"]})
    assert [note.split()[0] for note in found.notes] == ["mounts", "ntp", "users"]


def test_a_script_is_run_as_it_is() -> None:
    assert read(b"#!/bin/bash\necho hi\n", {}) == CloudConfig(run="#!/bin/bash\necho hi\n")


def test_user_data_may_be_compressed() -> None:
    assert read(gzip.compress(b"#cloud-config\nruncmd: ['true']\n"), {}).run == "#!/bin/sh\ntrue\n"


def test_variables_are_put_in_before_anything_is_read() -> None:
    text = b"## template: jinja\n#cloud-config\nruncmd: ['hostname {{ ds.meta_data.local_hostname }}']\n"
    assert read(text, {"local-hostname": "m1"}).run == "#!/bin/sh\nhostname m1\n"


def test_without_the_mark_of_a_template_braces_are_braces() -> None:
    text = b"#cloud-config\nruncmd: ['echo {{ ds.meta_data.x }}']\n"
    assert read(text, {"x": "y"}).run == "#!/bin/sh\necho {{ ds.meta_data.x }}\n"


@subtest_cases(
    ("user_data", "sentence"),
    [
        (b"", "user data begin with ''"),
        (b"Content-Type: multipart/mixed", "neither #cloud-config"),
        (b"\xff\xfe", "not text"),
        (b"\x1f\x8bnonsense", "not text"),
        (b"#cloud-config\n- a", "not a mapping"),
        (b"#cloud-config\na: [", "not YAML"),
        (b"#cloud-config\nwrite_files: {}x", "not YAML"),
        (b"#cloud-config\nwrite_files: a", "write_files is not a list"),
        (b"#cloud-config\nwrite_files: [a]", r"write_files\[0\] is not a mapping"),
        (b"#cloud-config\nwrite_files: [{path: a}]", "not an absolute path"),
        (b"#cloud-config\nwrite_files: [{path: /a, permissions: x}]", "not an octal number"),
        (b"#cloud-config\nwrite_files: [{path: /a, encoding: rot13}]", "is not known"),
        (b"#cloud-config\nwrite_files: [{path: /a, encoding: b64, content: a}]", "not what its encoding"),
        (b"#cloud-config\nwrite_files: [{path: /a, encoding: gz, content: x}]", "not what its encoding"),
        (b"#cloud-config\nwrite_files: [{path: /a, source: {uri: x}}]", "source is a place outside"),
        (b"#cloud-config\nruncmd: {a: b}", "runcmd is not a list"),
        (b"#cloud-config\nruncmd: [false]", r"runcmd\[0\] is neither"),
        (b"#cloud-config\nruncmd: [[a, [b]]]", "neither text nor a number"),
        (b"## template: jinja\n#cloud-config\n{% if x %}", "cannot be rendered"),
    ],
)
def test_what_cannot_be_understood_is_said(user_data: bytes, sentence: str) -> None:
    with pytest.raises(NotUnderstood, match=sentence):
        read(user_data, {})
