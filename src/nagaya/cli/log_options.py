"""The options of commands that stay and log. Apart from what they lead to, so that `--help` need not load that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def log_options(command: F) -> F:
    """The options of commands that stay and log."""
    verbose = click.option("-v", "--verbose", count=True, help="Say what is done (-v), and every detail (-vv).")
    form = click.option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="Lines for people, or one JSON object per line. Both name the object, its owners and the reconcile.",
    )
    return verbose(form(command))
