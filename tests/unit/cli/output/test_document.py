"""Output for programs."""

from __future__ import annotations

import json

import yaml

from nagaya.cli.output.document import JSON, YAML, printed, streamed

CONTENT = {"name": "größe", "status": "True", "items": [1, 2]}


def test_both_formats_say_the_same() -> None:
    assert json.loads(printed(CONTENT, JSON)) == yaml.safe_load(printed(CONTENT, YAML)) == CONTENT
    assert printed(CONTENT, YAML).splitlines()[1] == "status: 'True'"


def test_many_documents_can_be_told_apart() -> None:
    lines = (streamed(CONTENT, JSON) * 2).splitlines()
    assert [json.loads(line) for line in lines] == [CONTENT, CONTENT]
    assert list(yaml.safe_load_all(streamed(CONTENT, YAML) * 2)) == [CONTENT, CONTENT]
