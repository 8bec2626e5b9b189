"""Output for programs: JSON or YAML, complete and without colours.

Every command that ends by itself has `-o`: without it, it speaks to people. Commands whose output are manifests print
YAML then, which people and programs read alike.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import click

from nagaya.foreign_text import escape

JSON: Final = "json"
YAML: Final = "yaml"
C = TypeVar("C", bound=Callable[..., Any])


def output_option(command: C) -> C:
    """`-o json|yaml`; None means for people."""
    return click.option(
        "-o", "--output", type=click.Choice([JSON, YAML]), help="For programs.  [default: a table for people]"
    )(command)


def result_option(command: C) -> C:
    """`-o json|yaml` of commands that do something and say what they did; None means for people."""
    return click.option(
        "-o", "--output", type=click.Choice([JSON, YAML]), help="Say what was done for programs.  [default: a sentence]"
    )(command)


def manifests_option(command: C) -> C:
    """`-o yaml|json` of commands that print manifests."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice([YAML, JSON]),
        default=YAML,
        show_default=True,
        help="Documents of YAML, or one List in JSON.",
    )(command)


def printed_manifests(objects: Sequence[dict[str, Any]], output: str) -> str:
    """Manifests as text that `kubectl apply -f` takes."""
    if output == JSON:
        return printed({"apiVersion": "v1", "kind": "List", "items": objects}, JSON)
    from nagaya.api.conversion.manifests import write

    return write(objects)


def printed(content: object, output: str) -> str:
    """A document as text, with a line break at its end."""
    if output == JSON:
        return escape(json.dumps(content, indent=2, ensure_ascii=False)) + "\n"
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    try:
        text: str = yaml.dump(content, Dumper=dumper, sort_keys=False, width=1000)
    except UnicodeEncodeError:  # half characters, which only the slow one escapes
        text = yaml.dump(content, Dumper=yaml.SafeDumper, sort_keys=False, width=1000)
    return text


def streamed(content: object, output: str) -> str:
    """One document of many: a line of JSON, or a YAML document of its own."""
    if output == JSON:
        return escape(json.dumps(content, ensure_ascii=False)) + "\n"
    return "---\n" + printed(content, output)
