"""What cloud-init would make of boot data on a machine's first boot, and what it says when it can make nothing of them.

The sentences are those of cloud-init 22.4, which Debian 12 has: a module that fails is an error in its result; user
data that are no cloud-config at all are only a warning in its log, after which it does nothing and calls that done.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import yaml

from nagaya.simulators.netns import cloud_config, template
from nagaya.simulators.netns.cloud_config import CloudConfig, NotUnderstood
from nagaya.simulators.proxmox.guests import kubeadm_call
from nagaya.simulators.proxmox.guests.instance import meta_data
from nagaya.simulators.proxmox.guests.kubeadm_call import KubeadmCall
from nagaya.simulators.proxmox.qemu.cloud_init import BootData
from nagaya.simulators.tenant.boot_data import Unusable
from nagaya.wire import bounded_yaml

SCRIPT_FAILED: Final = str(("scripts-user", RuntimeError("Runparts: 1 failures (runcmd) in 1 attempted commands")))
"""The error of a run whose commands did not succeed."""
LOG: Final = "/var/log/cloud-init.log"
_JINJA: Final = "## template: jinja"
_HEADER: Final = "#cloud-config"
_SCRIPTS: Final = "/var/lib/cloud/instances"
_MODULES: Final = ("write_files", "runcmd", "bootcmd")
_NOT_LOADED: Final = "util.py[WARNING]: Failed loading yaml blob"
_KUBEADM: Final = re.compile(r"\bkubeadm\s+(init|join)\b")


@dataclass(frozen=True, slots=True)
class FirstBoot:
    """What is to happen."""

    call: KubeadmCall | None = None
    errors: tuple[str, ...] = ()
    """What has gone wrong already, as cloud-init's result has it."""
    log: str = ""
    """What cloud-init writes to its log about it."""
    output: str = ""
    """What a program wrote that did not like what it was given."""
    ends_with_kubeadm: bool = True
    """Whether the commands fail if kubeadm does: those of a shell end as the last of them does."""


def read(data: BootData, host: str) -> FirstBoot:
    """The meaning of boot data on a machine of this name."""
    names = meta_data(data)
    text = _rendered(data.user, names)
    if not text.strip():
        return FirstBoot()
    try:
        config = cloud_config.read(text.encode(), {})
    except NotUnderstood as error:
        return _not_understood(text, error, names["instance-id"])
    try:
        call = kubeadm_call.read(text, config, host)
    except Unusable as error:
        return FirstBoot(errors=(SCRIPT_FAILED,), output=f"error: {error}\n")
    return FirstBoot(call, ends_with_kubeadm=_ends_with_kubeadm(config))


def _rendered(text: str, names: Mapping[str, str]) -> str:
    first, _, rest = text.partition("\n")
    if first.strip().lower() != _JINJA:
        return text
    try:
        return template.render(rest, names)[0]
    except ValueError:
        # Statements of Jinja stand in commands and users' files, in which nothing is read here.
        return rest


def _ends_with_kubeadm(config: CloudConfig) -> bool:
    lines = config.run.strip().splitlines()
    return bool(lines) and _KUBEADM.search(lines[-1]) is not None


def _not_understood(text: str, error: NotUnderstood, instance: str) -> FirstBoot:
    words, cause = str(error), error.__cause__
    if isinstance(cause, yaml.YAMLError):
        return FirstBoot(log=f"{_NOT_LOADED}.{_where(cause)}\n")
    if words.startswith(_MODULES):
        # The other modules go on. If files are missing kubeadm does not find its configuration.
        content = bounded_yaml.load(text)
        module = words.partition("[")[0].partition(".")[0].partition(" ")[0]
        told = f"({module.replace('_', '-')!r}, {_exception(module, content[module], error, instance)})"
        commands = content.get("runcmd") if module == "write_files" else None
        fails = isinstance(commands, list) and commands and _KUBEADM.search(str(commands[-1]))
        return FirstBoot(errors=(told, SCRIPT_FAILED) if fails else (told,))
    if text.startswith(_HEADER):
        kind = type(bounded_yaml.load(text)).__name__
        return FirstBoot(log=f"{_NOT_LOADED}. Yaml load allows ({dict},) root types, but got {kind} instead\n")
    start = text.partition("\n")[0][:24].encode()
    return FirstBoot(
        log=f"__init__.py[WARNING]: Unhandled non-multipart (text/x-not-multipart) userdata: '{start!r}...'\n"
    )


def _where(error: yaml.YAMLError) -> str:
    mark = (error.context_mark or error.problem_mark) if isinstance(error, yaml.MarkedYAMLError) else None
    return f' Invalid format at line {mark.line + 1} column {mark.column + 1}: "{error}"' if mark else f" {error}"


def _exception(module: str, given: object, error: NotUnderstood, instance: str) -> str:
    """What a module breaks off with. Where cloud-init would make do with what it is given, it is our own sentence."""
    cause = error.__cause__
    if module == "runcmd":
        return repr(TypeError(f"Failed to shellify {given} into file {_SCRIPTS}/{instance}/scripts/runcmd"))
    if module == "bootcmd" and not isinstance(given, list):
        return repr(TypeError(f"Input to shellify was type '{type(given).__name__}'. Expected list or tuple."))
    if module == "bootcmd" and isinstance(given, list):
        bad = next((each for each in given if not isinstance(each, list | str | None)), None)
        return repr(
            TypeError(f"Unable to shellify type '{type(bad).__name__}'. Expected list, string, tuple. Got: {bad}")
        )
    if isinstance(cause, binascii.Error):
        return repr(cause)
    return f"DecompressionError({str(cause)!r})" if cause is not None else repr(ValueError(str(error)))
