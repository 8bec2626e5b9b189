"""Files of a machine as entries of `write_files`."""

from __future__ import annotations

import base64
from typing import Any

from nagaya.api.bootstrap.files import File
from nagaya.bootstrap.boot import with_final_newline
from nagaya.bootstrap.own_file import OwnFile
from nagaya.bootstrap.yaml_text import TEMPLATE_TAG


def user_file(file: File) -> dict[str, Any]:
    """A file of the user: a template, unless he encoded it."""
    fields = {
        "path": file.path,
        "encoding": file.encoding,
        "owner": file.owner,
        "permissions": file.permissions,
        "append": file.append,
    }
    content = file.content if file.encoding else with_final_newline(file.content)
    return {**{name: value for name, value in fields.items() if value}, "content": content}


def own_file(file: OwnFile) -> dict[str, Any]:
    """A file of Nagaya's: what it contains arrives as it is."""
    entry: dict[str, Any] = {"path": file.path}
    text = _as_text(file.content)
    if text is None:
        entry["encoding"] = "base64"
    entry["owner"] = file.owner
    entry["permissions"] = file.permissions
    entry["content"] = base64.b64encode(file.content).decode() if text is None else text
    return entry


def _as_text(content: bytes) -> str | None:
    """The text that can stand in a Jinja template for itself, if it is such."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    return None if TEMPLATE_TAG.search(text) else text
