"""The kubeconfig of a tenant: read from its Secret, written, merged into one's own, tried.

A kubeconfig of one's own is merged under the lock that kubectl uses, the file before is kept beside it, and the new one
takes its place in one step: whoever reads it meanwhile sees the one or the other. Nothing in it that has another name
is touched.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from nagaya.cli.output.ended import Ended
from nagaya.cli.output.session import Session

if TYPE_CHECKING:
    from nagaya.world import World

CHECK_TIMEOUT: Final = 10.0
_PRIVATE: Final = 0o600
_OF_THIS_MACHINE: Final = frozenset(
    ("exec", "auth-provider", "tokenfile", "certificate-authority", "client-certificate", "client-key")
)
_SECTIONS: Final = (("clusters", "cluster"), ("users", "user"), ("contexts", "context"))


@dataclass(frozen=True, slots=True)
class Merged:
    """What was done to a kubeconfig."""

    file: Path
    context: str
    backup: Path | None
    current: bool

    @property
    def sentence(self) -> str:
        """For people."""
        kept = f" What it was before is in {self.backup}." if self.backup is not None else ""
        option = "" if self.current else f" --context {self.context}"
        return f"Merged context {self.context} into {self.file}.{kept} Try it: kubectl{option} get nodes"


async def read_kubeconfig(session: Session, name: str) -> str:
    """The text in the Secret of a Cluster. Raises Ended, which says why there is none."""
    from nagaya.insight.picture.message import one_line
    from nagaya.kube.errors import NotFound
    from nagaya.kube.tenant_secrets import SUFFIX, TENANT_SECRETS, VALUE

    kinds = await session.kinds()
    cluster = await session.cluster(kinds, name)
    try:
        secret = await session.client.get(TENANT_SECRETS, session.namespace, f"{name}{SUFFIX}")
    except NotFound:
        condition = cluster.condition("ControlPlaneInitialized")
        message = "" if condition is None else one_line(condition.message)
        because = f" ({message})" if condition is not None and condition.status != "True" and message else ""
        raise Ended(
            f"Cluster {name} has no kubeconfig yet: the Secret {session.namespace}/{name}{SUFFIX} does not exist. "
            f"It is made when the control plane is{because}. See how far it is: "
            f"nagaya describe cluster {name} -n {session.namespace} --watch"
        ) from None
    try:
        text = base64.b64decode(secret.data.get(VALUE, ""), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise Ended(f"The Secret {session.namespace}/{name}{SUFFIX} has no text in {VALUE}: it is damaged.") from None
    expect_harmless(parsed(text), f"Secret {session.namespace}/{name}{SUFFIX}")
    return text


def expect_harmless(content: Any, source: str) -> None:
    """Raise Ended for a kubeconfig that makes kubectl run programs or read files. The Secret is not the reader's: all
    who may write Secrets in the namespace decide what it holds."""
    waiting = [content]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            for key in found:
                if not isinstance(key, str) or key.casefold() in _OF_THIS_MACHINE:
                    raise Ended(
                        f"The kubeconfig in {source} is not used: its field {key!r} would make kubectl run programs or "
                        "read files of this machine. Have its owner put certificates, keys or a token into it."
                    )
            waiting += found.values()
        elif isinstance(found, list):
            waiting += found


def parsed(text: str) -> dict[str, Any]:
    """A kubeconfig as plain values. Raises Ended."""
    import yaml

    from nagaya.wire import bounded_yaml

    try:
        content = bounded_yaml.load(text)
    except yaml.YAMLError:
        raise Ended("The kubeconfig is not YAML.") from None
    if not isinstance(content, dict):
        raise Ended("The kubeconfig is no mapping.")
    return content


def written(file: Path, text: str, *, force: bool) -> None:
    """Write a kubeconfig that only its owner can read. Raises Ended if the file exists."""
    if file.exists() and not force:
        raise Ended(f"{file} exists. Replace it with --force, or add to it with --merge --into {file}.")
    try:
        _replace(file, text)
    except OSError as error:
        raise Ended(f"{file} cannot be written: {error.strerror}.") from error


def merged_into(file: Path, given: Mapping[str, Any], name: str | None, *, use: bool, force: bool) -> Merged:
    """Add the current context of a kubeconfig to another one. Raises Ended if entries of that name lead elsewhere."""
    import yaml

    target = file.resolve()
    entries = renamed(given, name)
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(target):
            before = target.read_text() if target.exists() else ""
            own = parsed(before) if before.strip() else {"apiVersion": "v1", "kind": "Config"}
            content = merged(own, entries, use=use, force=force, where=str(file))
            backup = None
            if before:
                backup = target.with_name(f"{target.name}.backup")
                _replace(backup, before)
            _replace(target, yaml.safe_dump(content, sort_keys=False, width=1_000_000))
    except OSError as error:
        raise Ended(f"{file} cannot be written: {error.strerror}.") from error
    context = str(entries["current-context"])
    return Merged(file, context, backup, content.get("current-context") == context)


def renamed(given: Mapping[str, Any], name: str | None) -> dict[str, Any]:
    """The current context of a kubeconfig with its cluster and user, all called by a name if one is given."""
    current = given.get("current-context") or ""
    context = _entry(given, "contexts", "context", str(current))
    cluster = _entry(given, "clusters", "cluster", str(context.get("cluster", "")))
    user = _entry(given, "users", "user", str(context.get("user", "")))
    names = {"cluster": str(context["cluster"]), "user": str(context["user"])}
    if name is not None:
        current, names = name, {"cluster": name, "user": name}
    return {
        "clusters": [{"name": names["cluster"], "cluster": cluster}],
        "users": [{"name": names["user"], "user": user}],
        "contexts": [{"name": current, "context": {**context, **names}}],
        "current-context": current,
    }


def merged(own: Mapping[str, Any], entries: Mapping[str, Any], *, use: bool, force: bool, where: str) -> dict[str, Any]:
    """One's own kubeconfig with entries added or renewed. Raises Ended if that would change where a name leads."""
    content = dict(own)
    for section, singular in _SECTIONS:
        listed = content.get(section) or []
        if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
            raise Ended(f"{where}: {section} is no list of entries. Correct it; nothing was changed.")
        new = entries[section][0]
        same = next((each for each in listed if each.get("name") == new["name"]), None)
        if same is not None and not force and _leads(same, singular) != _leads(new, singular):
            raise Ended(
                f"{where} has another {singular} called {new['name']}, which leads to {_leads(same, singular)} and not "
                f"to {_leads(new, singular)}. Choose another name with --as, or replace it with --force. "
                "Nothing was changed."
            )
        if same is None:
            content[section] = [*listed, new]
        else:
            content[section] = [new if each is same else each for each in listed]
    if use or not content.get("current-context"):
        content["current-context"] = entries["current-context"]
    return content


async def works(world: World, text: str, name: str) -> str:
    """A sentence that says that a kubeconfig works. Raises Ended with the reason if it does not."""
    from nagaya.kube.client import Client
    from nagaya.kube.decoding import ServerVersion, read_document
    from nagaya.kube.errors import ApiError
    from nagaya.kube.http import HttpTransport
    from nagaya.kube.kubeconfig import KubeconfigError, parse_text
    from nagaya.kube.transport import NoAnswer

    try:
        connection = parse_text(text, source=f"the kubeconfig of {name}")
    except KubeconfigError as error:
        raise Ended(str(error)) from error
    client = Client(HttpTransport(connection, world=world), world=world)
    try:
        answer = await client.raw("GET", "/version", timeout=CHECK_TIMEOUT)
        version = read_document(ServerVersion, "/version", answer.body).git_version or "of an unknown version"
        # What everyone may ask proves nothing about who asks.
        await client.raw("GET", "/api/v1/namespaces", query={"limit": "1"}, timeout=CHECK_TIMEOUT)
    except NoAnswer as error:
        raise Ended(
            f"The API of {name} does not answer at {connection.server}: {error.why.rstrip('.')}. See how it stands: "
            f"nagaya describe cluster {name}"
        ) from error
    except ApiError as error:
        raise Ended(f"The API of {name} at {connection.server} refuses: {error}.") from error
    finally:
        await client.close()
    return f"It works: Kubernetes {version} answers at {connection.server}."


def _entry(given: Mapping[str, Any], section: str, singular: str, name: str) -> Mapping[str, Any]:
    listed = given.get(section)
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and each.get("name") == name and isinstance(each.get(singular), dict):
            found: Mapping[str, Any] = each[singular]
            return found
    raise Ended(f"The kubeconfig has no {singular} {name!r}: it cannot be merged. Print it, and correct it by hand.")


def _leads(entry: Mapping[str, Any], singular: str) -> str:
    """Where an entry leads: that of a user may be renewed as one likes."""
    content = entry.get(singular)
    found: Mapping[str, Any] = content if isinstance(content, dict) else {}
    match singular:
        case "cluster":
            return str(found.get("server", "nowhere"))
        case "context":
            return f"cluster {found.get('cluster', '')} as {found.get('user', '')}"
        case _:
            return ""


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """The lock of kubectl: a file beside it that exists while somebody writes."""
    lock = file.with_name(f"{file.name}.lock")
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL, 0))
    except FileExistsError:
        raise Ended(
            f"{file} is being written by another program: {lock} exists. Try again, or remove it if nothing does."
        ) from None
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)


def _replace(file: Path, text: str) -> None:
    """Put a file in place in one step, readable by its owner only."""
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, _PRIVATE)
        with os.fdopen(descriptor, "w") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)
