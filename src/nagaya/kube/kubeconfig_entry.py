"""One entry of a kubeconfig, read field by field: what is wrong is reported with its place and a remedy.

No message ever quotes a value, which may be a credential; only paths and names are shown.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nagaya.kube.connection import Pem


class KubeconfigError(ValueError):
    """A kubeconfig that cannot be used; the message names the file, the field and what to do."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A named part of a kubeconfig, and where it stands: relative paths start at its file."""

    content: Mapping[str, Any]
    where: str
    folder: Path | None
    sealed: bool = False  # whether it comes from somebody who may not name files or programs of this machine

    def text(self, field: str) -> str:
        """A text; empty if it is missing."""
        value = self.content.get(field)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise KubeconfigError(f"{self.where}.{field}: it must be text, but is {kind_of(value)}. Put it in quotes.")
        return value

    def flag(self, field: str) -> bool:
        """True or false; false if it is missing."""
        value = self.content.get(field)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise KubeconfigError(f"{self.where}.{field}: it must be true or false, but is {kind_of(value)}.")

    def texts(self, field: str) -> tuple[str, ...]:
        """A list of texts; empty if it is missing."""
        value = self.content.get(field)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise KubeconfigError(f"{self.where}.{field}: it must be a list of texts.")
        return tuple(value)

    def path(self, field: str) -> Path | None:
        """A path, made absolute; None if it is missing."""
        text = self.text(field)
        if not text:
            return None
        if self.sealed:
            raise KubeconfigError(
                f"{self.where}.{field}: a kubeconfig that is not a file of this machine may not name files on it. "
                f"Put the content into {field.removesuffix('File')}{'' if field.endswith('File') else '-data'}."
            )
        if self.folder is None and not Path(text).is_absolute():
            raise KubeconfigError(f"{self.where}.{field}: {text} is relative, but this kubeconfig is not in a file.")
        return (self.folder or Path("/")) / text

    def pem(self, field: str) -> Pem | None:
        """PEM text from `<field>-data`, which goes first, or the file named in `<field>`."""
        encoded = self.text(f"{field}-data")
        if not encoded:
            path = self.path(field)
            if path is not None and not path.is_file():
                raise KubeconfigError(f"{self.where}.{field}: there is no file {path}. Correct the path.")
            return path
        try:
            return base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            raise KubeconfigError(
                f"{self.where}.{field}-data: it is not base64. Copy it anew from its source."
            ) from None


def kind_of(value: object) -> str:
    """What a value is, in words."""
    names = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list", dict: "a mapping"}
    return names.get(type(value), "nothing" if value is None else "something else")
