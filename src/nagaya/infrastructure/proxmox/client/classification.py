"""Which error an answer of Proxmox VE is.

Made from the recorded answers of PVE 9.2: the number where it says something, else the words. A failure inside a
locked section is wrapped ("update pools failed: 403 Permission check failed ..."), and one inside a task is its exit
status, so the words are looked for anywhere in the text. Order matters: the first rule that fits decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from nagaya.infrastructure.proxmox.client import errors
from nagaya.infrastructure.proxmox.client.errors import Evidence, ProxmoxError

Rule = tuple[re.Pattern[str], Callable[[Evidence, re.Match[str]], ProxmoxError]]

_DENIED: Final = re.compile(r"Permission check failed(?: \(([^,()\s]+), ([A-Za-z.|]+)[^)]*\))?")
_NEVER_DENIED: Final = (403, "/version")
"""Whoever PVE knows may ask for its version, so that is the answer of something else."""
_UNDONE: Final = "unable to apply pending change"
"""The parameter was well: the change was begun, and failed for what is said after this."""


def classified(evidence: Evidence) -> ProxmoxError:
    """The error of an answer, or of a task's end (without a status)."""
    status = evidence.status
    if status == 401:
        return errors.Unauthorized(evidence)
    if (status, evidence.path) == _NEVER_DENIED:
        return errors.Malformed(evidence)
    if status == 595:
        return errors.HostUnreachable(evidence)
    if status == 596:
        # A certificate is refused before the call is passed on; anything else broke on the way.
        return errors.HostUnreachable(evidence, may_have_happened="certificate verify failed" not in evidence.text)
    if status == 400:
        return _of_parameters(evidence)
    return _by_words(evidence, evidence.text)


def _of_parameters(evidence: Evidence) -> ProxmoxError:
    said = evidence.errors
    if "no such task" in said.get("upid", ""):
        return errors.NotFound(evidence, "task")
    if "No such storage" in said.get("storage", ""):
        return errors.NotFound(evidence, "storage")
    if any("already exists" in text for text in said.values()):
        return errors.Conflict(evidence)
    undone = next((text for text in said.values() if _UNDONE in text), None)
    made = None if undone is None else _by_words(evidence, undone)
    # What is missing there is not what the call was about: NotFound would say that the machine is gone.
    return errors.ParameterError(evidence) if made is None or isinstance(made, errors.NotFound) else made


def _by_words(evidence: Evidence, text: str) -> ProxmoxError:
    for pattern, make in _RULES:
        if (found := pattern.search(text)) is not None:
            return make(evidence, found)
    if evidence.status == 403:
        return errors.Forbidden(evidence)
    if evidence.status in (501, 506):
        return errors.NotImplemented(evidence)
    return errors.Refused(evidence)


def _denied(evidence: Evidence, match: re.Match[str]) -> ProxmoxError:
    found = _DENIED.search(match.string)
    if found is None or not found[1]:
        return errors.Forbidden(evidence)
    return errors.Forbidden(evidence, found[1], tuple(found[2].split("|")))


def _ticket_needed(evidence: Evidence, _: re.Match[str]) -> ProxmoxError:
    return errors.Forbidden(evidence, remedy="PVE takes no token for this call: it needs a user with a password.")


def _storage_off(evidence: Evidence, _: re.Match[str]) -> ProxmoxError:
    return errors.WrongState(evidence, "Bring the storage back: `pvesm status` on the host says how it is.")


def _missing(what: str) -> Callable[[Evidence, re.Match[str]], ProxmoxError]:
    return lambda evidence, _: errors.NotFound(evidence, what)


def _missing_named(evidence: Evidence, found: re.Match[str]) -> ProxmoxError:
    named = found[1].lower()
    return errors.NotFound(evidence, {"domain": "realm", "storage id": "storage"}.get(named, named))


def _as(made: type[ProxmoxError]) -> Callable[[Evidence, re.Match[str]], ProxmoxError]:
    return lambda evidence, _: made(evidence)


def _rule(pattern: str, make: Callable[[Evidence, re.Match[str]], ProxmoxError] | type[ProxmoxError]) -> Rule:
    return re.compile(pattern), _as(make) if isinstance(make, type) else make


_RULES: Final[tuple[Rule, ...]] = (
    # The guest's agent, whose messages can hold any words.
    _rule(r"^Agent error: ", errors.AgentFailed),
    _rule(r"No QEMU guest agent configured|QEMU guest agent is not running", errors.AgentNotReady),
    # What a right would not change, and PVE tells of as a missing right all the same.
    _rule(r"Permission check failed \(pool '[^']*' does not exist\)", _missing("pool")),
    _rule(r"not available with API token, need proper ticket", _ticket_needed),
    _rule(r"Permission check failed", _denied),
    _rule(r"\b[Oo]nly root can ", errors.RootOnly),
    _rule(r"400 Parameter verification failed", errors.ParameterError),
    # The cluster.
    _rule(r"no quorum", errors.NoQuorum),
    _rule(r"unable to open file '/etc/pve/.*' - Permission denied", errors.NoQuorum),
    _rule(r"VM is locked(?: \(([a-z-]+)\))?", lambda evidence, found: errors.Locked(evidence, found[1] or "")),
    _rule(r"can't lock file .* got timeout|got lock (?:request )?timeout|got no worker upid|unable to acquire lock",
          errors.Busy),
    _rule(r"usr/bin/(?:ssh|scp) .* failed: exit code 255", errors.HostUnreachable),
    # Somebody was faster.
    _rule(r"checksum mismatch \(file change|detected modified configuration", errors.Conflict),
    _rule(r"already exists|already defined|already in use|belongs already to pool|: File exists|already used",
          errors.Conflict),
    _rule(r"invalid bootorder", errors.ParameterError),
    # What is not there. The first of them decides whether a machine counts as gone: it is PVE's own sentence, whole.
    _rule(r"Configuration file '[^']*' does not exist|unable to find configuration file for VM", _missing("machine")),
    _rule(r"hostname lookup '[^']*' failed|no such cluster node", _missing("host")),
    _rule(r"parent '[^']*' of pool '[^']*' does not exist", _missing("pool")),
    _rule(r"(pool|role|[Ss]torage|snapshot|domain|group|user|resource|disk|volume|rule|bridge) '[^']*' does not exist",
          _missing_named),
    _rule(r"no such (token|user|group|role|realm|resource|storage|task|volume|ha rule)\b", _missing_named),
    _rule(r"volume_size_info on '[^']*' failed", _missing("volume")),
    _rule(r"not HA managed|is not a pool member", _missing("member")),
    # What is there, but not so.
    _rule(r"VM (?:\d+ )?(?:is )?not running|VM (?:\d+ )?(?:is |already )running|is running - destroy failed",
          errors.WrongState),
    _rule(r"protection mode enabled|you can't (?:convert|start|move|delete|resume)|is not empty|still in use",
          errors.WrongState),
    _rule(r"storage '[^']*' is (?:disabled|not available|not online)", _storage_off),
    _rule(r"unmanaged resource", errors.WrongState),
    _rule(r"feature is not (?:supported|available)", errors.WrongState),
    _rule(r"can't clone VM to node|can't clone to non-shared storage|can't migrate", errors.WrongState),
    _rule(r"unable to get any free VMID", errors.Exhausted),
    _rule(r"(?i)no space left on device|insufficient free space|out of space|not enough (?:free )?space|quota exceeded",
          errors.StorageFull),
    # What was asked wrongly.
    _rule(r"no options specified|SSH public key validation error|not allowed for linked clones",
          errors.ParameterError),
    _rule(r"unable to parse|cannot be used together|does not support '[^']*' content|wrong field name",
          errors.ParameterError),
    _rule(r"shrinking disks is not supported|vcpus allowed per VM", errors.ParameterError),
    _rule(r"malformed JSON string|Not a HASH reference|for data too large", errors.ParameterError),
    _rule(r"Unexpected content for method|^upload 'Content-Type", errors.ParameterError),
)  # fmt: skip
