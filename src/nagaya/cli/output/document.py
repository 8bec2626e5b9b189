"""Output for programs: JSON or YAML, complete and without colours."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

JSON: Final = "json"
YAML: Final = "yaml"
C = TypeVar("C", bound=Callable[..., Any])


def output_option(command: C) -> C:
    """`-o json|yaml`; None means for people."""
    return click.option(
        "-o", "--output", type=click.Choice([JSON, YAML]), help="For programs.  [default: a table for people]"
    )(command)


def printed(content: object, output: str) -> str:
    """A document as text, with a line break at its end."""
    if output == JSON:
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    import yaml

    text: str = yaml.dump(content, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), sort_keys=False, width=1000)
    return text


def streamed(content: object, output: str) -> str:
    """One document of many: a line of JSON, or a YAML document of its own."""
    if output == JSON:
        return json.dumps(content, ensure_ascii=False) + "\n"
    return "---\n" + printed(content, output)
