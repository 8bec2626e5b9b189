"""Credentials from a program: how cloud providers and single sign-on log a kubeconfig's user in.

The protocol is `client.authentication.k8s.io`, versions v1 and v1beta1: the program is told what it is for in the
variable KUBERNETES_EXEC_INFO and prints an ExecCredential. What always holds: the program runs at most once at a time,
however many calls wait for it; what it prints is never shown or logged; its complaints go to our standard error.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal

import msgspec

from nagaya.foreign_answers import read_json
from nagaya.world import Clock

API_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
PLUGIN_TIMEOUT: Final = 60.0  # seconds for a program that nobody can talk to; a person gets as long as it takes
_LARGEST: Final = 1 << 20  # bytes that a program may print
InteractiveMode = Literal["Never", "IfAvailable", "Always"]


class PluginFailed(Exception):
    """The program gave no credentials; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """How a kubeconfig says that credentials are to be had."""

    api_version: str
    command: str
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    interactive_mode: InteractiveMode = "IfAvailable"
    install_hint: str = ""
    cluster: str = field(default="", repr=False)  # `spec.cluster` as JSON, for a program that wants to know it


@dataclass(frozen=True, slots=True)
class Credential:
    """What a program gave: a token, or a certificate with its key, or both."""

    token: str = field(default="", repr=False)
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    expires: datetime | None = None


class ExecCredentials:
    """The credentials of one plugin, kept until they expire or are refused."""

    def __init__(self, plugin: ExecPlugin, clock: Clock, environment: Mapping[str, str] | None = None) -> None:
        self._plugin = plugin
        self._clock = clock
        self._environment = os.environ if environment is None else environment
        self._held: Credential | None = None
        self._running = asyncio.Lock()

    async def get(self) -> Credential:
        """Credentials that have not expired. Raises PluginFailed."""
        if (held := self._valid()) is not None:
            return held
        async with self._running:
            if (held := self._valid()) is None:
                held = self._held = await self._run()
            return held

    async def renew(self, refused: Credential) -> bool:
        """Run the program again unless somebody has since. Returns whether there are other credentials now."""
        async with self._running:
            if self._held == refused:
                self._held = None
                self._held = await self._run()
            return self._held != refused

    def _valid(self) -> Credential | None:
        held = self._held
        if held is None or (held.expires is not None and held.expires <= self._clock.now()):
            return None
        return held

    async def _run(self) -> Credential:
        plugin = self._plugin
        interactive = self._interactive()
        program = shutil.which(plugin.command, path=self._environment.get("PATH", os.defpath))
        if program is None:
            hint = f" {plugin.install_hint.strip()}" if plugin.install_hint.strip() else ""
            raise PluginFailed(
                f"the program {plugin.command!r}, which the kubeconfig wants for credentials, is not installed.{hint}"
            )
        environment = {**self._environment, **dict(plugin.environment)}
        environment["KUBERNETES_EXEC_INFO"] = self._info(interactive)
        try:
            process = await asyncio.create_subprocess_exec(
                program,
                *plugin.arguments,
                stdin=None if interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                env=environment,
            )
        except OSError as error:
            raise PluginFailed(f"{plugin.command} cannot be started: {error.strerror}") from error
        try:
            async with asyncio.timeout(None if interactive else PLUGIN_TIMEOUT):
                assert process.stdout is not None
                printed = bytearray()
                while part := await process.stdout.read(_LARGEST):
                    printed += part
                    if len(printed) > _LARGEST:
                        raise PluginFailed(f"{plugin.command} printed more than {_LARGEST >> 20} MiB")
                await process.wait()
        except TimeoutError:
            raise PluginFailed(f"{plugin.command} gave no credentials within {PLUGIN_TIMEOUT:.0f} s") from None
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.returncode != 0:
            raise PluginFailed(
                f"{plugin.command} ended with status {process.returncode}; it tells why on standard error"
            )
        return self._read(bytes(printed))

    def _interactive(self) -> bool:
        mode = self._plugin.interactive_mode
        if mode == "Never":
            return False
        terminal = sys.stdin is not None and sys.stdin.isatty()
        if mode == "Always" and not terminal:
            raise PluginFailed(
                f"{self._plugin.command} needs a person (interactiveMode: Always), but standard input is no terminal"
            )
        return terminal

    def _info(self, interactive: bool) -> str:
        spec: dict[str, Any] = {"interactive": interactive}
        if self._plugin.cluster:
            spec["cluster"] = msgspec.Raw(self._plugin.cluster.encode())
        info = {"apiVersion": self._plugin.api_version, "kind": "ExecCredential", "spec": spec}
        return msgspec.json.encode(info).decode()

    def _read(self, printed: bytes) -> Credential:
        command, wanted = self._plugin.command, self._plugin.api_version
        try:
            content = read_json(printed)
        except ValueError:
            raise PluginFailed(f"{command} printed something that is not JSON") from None
        if not isinstance(content, dict) or content.get("kind") != "ExecCredential":
            raise PluginFailed(f"{command} printed something that is not an ExecCredential")
        if content.get("apiVersion") != wanted:
            answered = content.get("apiVersion")
            raise PluginFailed(
                f"{command} answers in {answered!r:.100}, but the kubeconfig says {wanted!r}: make them equal"
            )
        status = content.get("status")
        if not isinstance(status, dict):
            raise PluginFailed(f"{command} printed no status")
        return self._credential(status)

    def _credential(self, status: Mapping[str, Any]) -> Credential:
        command = self._plugin.command
        values = {name: status.get(name) or "" for name in ("token", "clientCertificateData", "clientKeyData")}
        for name, value in values.items():
            if not isinstance(value, str):
                raise PluginFailed(f"{command} printed a status.{name} that is not text")
        if not (values["token"].isascii() and values["token"].isprintable()):
            raise PluginFailed(f"{command} printed a status.token that no header can hold: remove what is not ASCII")
        token, certificate, key = values["token"], values["clientCertificateData"], values["clientKeyData"]
        if not token and not certificate and not key:
            raise PluginFailed(f"{command} printed neither a token nor a certificate with its key")
        if bool(certificate) != bool(key):
            raise PluginFailed(f"{command} printed a certificate or a key, but not both")
        expires = status.get("expirationTimestamp")
        try:
            when = None if expires is None else msgspec.convert(expires, datetime)
        except msgspec.ValidationError:
            raise PluginFailed(f"{command} printed a status.expirationTimestamp that is not a date") from None
        if when is not None and when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        return Credential(token, certificate, key, when)
