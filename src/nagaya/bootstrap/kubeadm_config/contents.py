"""What files and users take from elsewhere: contents and passwords from Secrets, and templates made out.

Secrets are read when boot data is made, and only then: a later change of one reaches new machines only.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from nagaya.api.bootstrap.files import TEMPLATE, File
from nagaya.api.bootstrap.users import User
from nagaya.api.kind import Kind, Resource
from nagaya.bootstrap.refusal import Refused
from nagaya.clusters import kubernetes_version
from nagaya.gotemplate.errors import TemplateError
from nagaya.gotemplate.template import DEFAULT_WORK, Template
from nagaya.kube.client import Client
from nagaya.kube.errors import NotFound

LARGEST: Final = 1 << 20
"""Characters of all files of a machine. No Secret holds more, and each of 200 files may name the same large one."""
_LARGEST_TEMPLATES: Final = 128 << 10
_LONGEST_PASSWORD: Final = 1024
_NONE: Final[Mapping[str, str]] = {}


class ContentSecret(Resource):
    """A Secret of the user's."""

    data: Mapping[str, str] = _NONE


_SECRETS: Final = Kind("", "v1", "Secret", "secrets", ContentSecret)


class NotThere(Exception):
    """A Secret, or an entry of one, that is needed and may still come."""


class Contents:
    """Fetches for one config. Each Secret is read once."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._read: dict[str, Mapping[str, str]] = {}
        self._templates = 0

    async def files(self, files: tuple[File, ...], control_plane_version: str) -> tuple[File, ...]:
        """Files with their contents. Raises NotThere and Refused."""
        found: list[File] = []
        work = DEFAULT_WORK // max(1, sum(each.content_format == TEMPLATE for each in files))
        size = 0
        for number, each in enumerate(files):
            made = await self._file(number, each, control_plane_version, work)
            size += len(made.content)
            if size > LARGEST:
                raise Refused(
                    f"spec.files[{number}]",
                    f"the files up to this one have more than {LARGEST >> 10} KiB together, and boot data is a Secret",
                    "Have the machine fetch what is large",
                )
            found.append(made)
        return tuple(found)

    async def users(self, users: tuple[User, ...]) -> tuple[User, ...]:
        """Users with their passwords. Raises NotThere and Refused."""
        found = []
        for number, each in enumerate(users):
            if each.passwd_from is not None:
                source = each.passwd_from.secret
                field = f"spec.users[{number}].passwdFrom"
                text = await self._entry(field, source.name, source.key)
                if len(text) > _LONGEST_PASSWORD:
                    raise Refused(field, f"it has more than {_LONGEST_PASSWORD} characters", "Use a hashed password")
                each = msgspec.structs.replace(each, passwd=text, passwd_from=None)
            found.append(each)
        return tuple(found)

    async def _file(self, number: int, file: File, control_plane_version: str, work: int) -> File:
        field = f"spec.files[{number}]"
        if file.content_from is not None:
            source = file.content_from.secret
            text = await self._entry(f"{field}.contentFrom", source.name, source.key)
            file = msgspec.structs.replace(file, content=text, content_from=None)
        if file.content_format != TEMPLATE:
            return file
        try:
            self._templates += len(file.content)
            if self._templates > _LARGEST_TEMPLATES:
                raise TemplateError(f"the templates up to this one have more than {_LARGEST_TEMPLATES >> 10} KiB")
            text = Template(file.path, file.content).render(template_data(control_plane_version), work=work)
        except TemplateError as error:
            raise Refused(f"{field}.content", str(error), "Correct the template, or set contentFormat to Raw") from None
        return msgspec.structs.replace(file, content=text, content_format="")

    async def _entry(self, field: str, name: str, key: str) -> str:
        if name not in self._read:
            try:
                self._read[name] = (await self._client.get(_SECRETS, self._namespace, name)).data
            except NotFound:
                raise NotThere(f"{field}: Secret {self._namespace}/{name} does not exist. Create it.") from None
        encoded = self._read[name].get(key)
        if encoded is None:
            raise NotThere(f"{field}: Secret {self._namespace}/{name} has no entry {key!r}. Add it.")
        try:
            return base64.b64decode(encoded).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise Refused(
                field,
                f"entry {key!r} of Secret {self._namespace}/{name} is not text",
                "Put the content there in Base64, and say so by encoding: base64",
            ) from None


def template_data(control_plane_version: str) -> dict[str, Any]:
    """What templates of files may refer to; nothing of the control plane if its version is not known."""
    if not control_plane_version:
        return {}
    parsed = kubernetes_version.parse(control_plane_version)
    told = control_plane_version if parsed is None else f"v{parsed}"
    return {"controlPlane": {"version": told}}
