"""Our cloud-config says what Cluster API's own provider says, for every field."""

from __future__ import annotations

from typing import Any

import yaml

from nagaya.bootstrap.cloud_init.document import CONFIGURATION, HEADER, PLACEHOLDER
from nagaya.bootstrap.data import render
from support.recorded_boots import RecordedBoot, recorded_boots
from support.subtest_cases import subtest_cases


def _boots() -> list[RecordedBoot]:
    return [boot for boot in recorded_boots() if boot.format == "cloud-config"]


@subtest_cases("boot", _boots, ids=lambda boot: boot.name)
def test_the_content_is_that_of_the_original(boot: RecordedBoot) -> None:
    assert _content(render(boot.data).decode()) == _content(boot.upstream)


@subtest_cases("boot", _boots, ids=lambda boot: boot.name)
def test_parts_and_files_come_in_the_order_of_the_original(boot: RecordedBoot) -> None:
    ours, theirs = _read(render(boot.data).decode()), _read(boot.upstream)
    assert list(ours) == [name for name, part in theirs.items() if part is not None]
    assert [each["path"] for each in ours["write_files"]] == [each["path"] for each in theirs["write_files"]]


def _read(text: str) -> dict[str, Any]:
    assert text.startswith(HEADER)
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def _content(text: str) -> dict[str, Any]:
    """The document without what makes no difference: spaces in the call of kubeadm, the style of its YAML, how many
    newlines end a file, and the words in the file that holds a folder open."""
    found = {name: part for name, part in _read(text).items() if part is not None}
    for file in found["write_files"]:
        file["content"] = file["content"].rstrip("\n")
        if file["path"] in CONFIGURATION.values():
            file["content"] = list(yaml.safe_load_all(file["content"]))
        if file["path"] == PLACEHOLDER:
            file["content"] = ""
    found["runcmd"] = [" ".join(each.split()) if each.startswith("kubeadm ") else each for each in found["runcmd"]]
    return found
