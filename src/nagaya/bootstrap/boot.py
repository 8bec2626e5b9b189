"""One machine's boot, worked out but in no format yet: what cloud_init and ignition turn into bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from nagaya.api.bootstrap.files import File
from nagaya.bootstrap.own_file import OwnFile
from nagaya.bootstrap.preparation import Preparation

Subcommand = Literal["init", "join"]


@dataclass(frozen=True, slots=True)
class Boot:
    """What happens on the machine, in this order: files, installation, the user's commands, kubeadm, more commands."""

    preparation: Preparation
    subcommand: Subcommand
    documents: tuple[Mapping[str, Any], ...] = field(repr=False)
    """What kubeadm reads."""
    own_files: tuple[OwnFile, ...] = ()
    files: tuple[File, ...] = field(default=(), repr=False)
    """The user's, and those that are made from his words: they are templates where the format has such."""
    own_commands: tuple[tuple[str, ...], ...] = ()
    """Run before the user's commands, without a shell."""


def kubeadm_command(boot: Boot, configuration: str) -> list[str]:
    """The call of kubeadm, word by word."""
    verbosity = boot.preparation.verbosity
    words = ["kubeadm", boot.subcommand, "--config", configuration]
    return words if verbosity is None else [*words, "--v", str(verbosity)]


def with_final_newline(content: str) -> str:
    """Text as a file of text: cron, sudo and whoever appends to the file rely on its last line being ended."""
    return content if not content or content.endswith("\n") else content + "\n"
