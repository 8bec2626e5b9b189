"""Our Ignition configs mean what those of Cluster API's own provider mean."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote_to_bytes

import yaml

from nagaya.bootstrap.data import render
from nagaya.bootstrap.ignition.kubeadm import CONFIGURATION
from support.recorded_boots import RecordedBoot, recorded_boots
from support.subtest_cases import subtest_cases


def _boots() -> list[RecordedBoot]:
    return [boot for boot in recorded_boots() if boot.format == "ignition"]


@subtest_cases("boot", _boots, ids=lambda boot: boot.name)
def test_the_content_is_that_of_the_original(boot: RecordedBoot) -> None:
    assert _content(render(boot.data).decode()) == _content(boot.upstream)


def _content(text: str) -> Any:
    """The config without what makes no difference: empty parts, comments, blank lines, spaces around equal signs, the
    style of kubeadm's YAML."""
    config = _without_empty(json.loads(text))
    for file in config["storage"]["files"]:
        source = file["contents"]["source"]
        if source.startswith("data:,"):
            content = unquote_to_bytes(source.removeprefix("data:,")).decode()
            generated = file["path"] in ("/etc/kubeadm.sh", "/etc/ntp.conf", "/etc/ssh/sshd_config")
            file["contents"]["source"] = _lines(content) if generated else content.rstrip("\n")
            if file["path"] == CONFIGURATION:
                file["contents"]["source"] = list(yaml.safe_load_all(content))
    for unit in config["systemd"]["units"]:
        if "contents" in unit:
            unit["contents"] = _lines(unit["contents"])
    return config


def _lines(text: str) -> list[str]:
    lines = (line.partition(" #")[0].strip().replace(" = ", "=") for line in text.splitlines())
    return [line for line in lines if line and (line.startswith("#!") or not line.startswith("#"))]


def _without_empty(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_empty(each) for each in value]
    if isinstance(value, dict):
        found = {name: _without_empty(each) for name, each in value.items()}
        return {name: each for name, each in found.items() if each not in ({}, None, False)}
    return value
