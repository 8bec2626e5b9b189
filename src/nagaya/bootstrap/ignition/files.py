"""Files of a machine as Ignition has them: their content is a URL that holds it."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any, Final
from urllib.parse import quote

from nagaya.api.bootstrap.files import File
from nagaya.bootstrap.boot import with_final_newline
from nagaya.bootstrap.own_file import OwnFile
from nagaya.bootstrap.refusal import Refused

ROOT_FILESYSTEM: Final = "root"
DEFAULT_MODE: Final = 0o644
_MODE: Final = re.compile(r"(0o)?[0-7]{1,5}")


def data_url(content: bytes) -> str:
    """A URL that is its own content."""
    return "data:," + quote(content, safe="!*'()")


def generated(path: str, content: str, mode: int) -> dict[str, Any]:
    """A file made here, owned by root."""
    return _file(path, content.encode(), mode)


def own_file(file: OwnFile) -> dict[str, Any]:
    """A file of Nagaya's."""
    return _owned(_file(file.path, file.content, int(file.permissions, 8)), file.owner)


def user_file(file: File, field: str) -> dict[str, Any]:
    """A file of the user's. `field` is where it stands in the KubeadmConfig, for refusals."""
    if not file.path.startswith("/"):
        raise Refused(f"{field}.path", "it is not absolute", "Give a path that starts with a slash")
    if file.encoding not in ("", "base64"):
        raise Refused(f"{field}.encoding", f"Ignition does not unpack {file.encoding}", "Give the content in base64")
    if file.permissions and not _MODE.fullmatch(file.permissions):
        raise Refused(f"{field}.permissions", "it is no mode in octal digits", 'Give one such as "0640"')
    mode = int(file.permissions, 8) if file.permissions else DEFAULT_MODE
    found = _owned(_file(file.path, _content(file, field), mode), file.owner)
    return {**found, "append": True} if file.append else found


def _content(file: File, field: str) -> bytes:
    if not file.encoding:
        return with_final_newline(file.content).encode()
    try:
        return base64.b64decode("".join(file.content.split()), validate=True)
    except binascii.Error as error:
        raise Refused(f"{field}.content", "it is not base64, as its encoding says", "Encode it, or say so") from error


def _file(path: str, content: bytes, mode: int) -> dict[str, Any]:
    return {"filesystem": ROOT_FILESYSTEM, "path": path, "mode": mode, "contents": {"source": data_url(content)}}


def _owned(file: dict[str, Any], owner: str) -> dict[str, Any]:
    user, _, group = (part.strip() for part in owner.partition(":"))
    names = {"user": user, "group": group}
    return {**file, **{kind: {"name": name} for kind, name in names.items() if name}}
