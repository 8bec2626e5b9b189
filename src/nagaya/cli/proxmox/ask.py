"""What `nagaya proxmox` asks people for: passwords, codes, and whether a certificate is the right one.

Secrets come from a terminal without being shown, from a file, or from standard input; never from the command line,
where everybody on the machine could read them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nagaya.cli.output.ended import Ended
from nagaya.cli.output.exit_code import ExitCode
from nagaya.cli.output.prompt import ask, can_ask, confirm, read_secret

if TYPE_CHECKING:
    from nagaya.infrastructure.proxmox.client import Endpoint, Trust

_COMPARE = "on the host, `pvenode cert info` or the page Node > System > Certificates shows it"


def secret_from(file: str | None, question: str) -> str:
    """Return a secret from a file, or from standard input (None or `-`)."""
    if file is None or file == "-":
        found = read_secret(question)
    else:
        try:
            text = Path(file).read_text()
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is not text"
            raise Ended(f"cannot read {file}: {why}.", ExitCode.PROBLEM) from error
        found = text.partition("\n")[0].rstrip("\r")
    if not found:
        raise Ended(f"{question}: nothing was given.", ExitCode.PROBLEM)
    return found


async def code_of(kind: str) -> str:
    """A code of the second factor."""
    question = "Code of the second factor (TOTP)" if kind == "totp" else "Recovery key of the second factor"
    return str(ask(question, hide_input=True))


def trust_given(ca_file: Path | None, fingerprint: str | None, insecure: str | None) -> Trust | None:
    """By what hosts are recognised, as the command line says it; None if it says nothing."""
    from nagaya.infrastructure.proxmox.client import BadTrust, Trust
    from nagaya.infrastructure.proxmox.client import fingerprint as digits_of
    from nagaya.infrastructure.proxmox.client.trust import context

    try:
        if insecure is not None:
            return Trust(insecure=True)
        if fingerprint is not None:
            return Trust(fingerprints=(digits_of(fingerprint),))
        if ca_file is None:
            return None
        trust = Trust(authority=ca_file.read_text())
        context(trust)
        return trust
    except (BadTrust, UnicodeDecodeError) as error:
        raise click.UsageError(f"{error}.") from error
    except OSError as error:
        raise click.UsageError(f"cannot read {ca_file}: {error.strerror}.") from error


async def trusted(endpoints: tuple[Endpoint, ...], given: Trust | None) -> Trust:
    """The same, after a look at the hosts. No password has been sent to anybody yet."""
    from nagaya.infrastructure.proxmox.client import Trust
    from nagaya.infrastructure.proxmox.client import fingerprint as digits_of
    from nagaya.infrastructure.proxmox.connection.establishing.certificate import NoCertificate, shown

    trust = given or Trust()
    problem, seen = None, []
    for endpoint in endpoints:
        try:
            seen.append((endpoint, await shown(endpoint, trust)))
        except NoCertificate as error:
            problem = problem or error
    if problem is not None and not seen:
        raise Ended(str(problem), ExitCode.UNREACHABLE) from problem
    if trust.fingerprints and not all(found.distrust for _, found in seen):
        return trust  # the others are of the same cluster, and are recognised by what the one that is known says
    for endpoint, found in seen:
        if not found.distrust:
            continue
        told = f"{endpoint} shows a certificate that is not trusted: {found.distrust}."
        if given is not None:
            raise Ended(
                f"{told} It has the SHA-256 fingerprint {found.fingerprint}. If that is the one of your host "
                f"({_COMPARE}), give it with --fingerprint; if not, somebody else answers there. Nothing was sent to "
                "it.",
                ExitCode.UNREACHABLE,
            )
        click.echo(
            f"{told}\n  subject      {found.subject}\n  issuer       {found.issuer}\n  valid until  "
            f"{found.ends:%Y-%m-%d}\n  SHA-256      {found.fingerprint}\nCompare it: {_COMPARE}.",
            err=True,
        )
        if not can_ask():
            raise Ended(
                f"If that is the certificate of the host, add --fingerprint {found.fingerprint}, or give its authority "
                "with --ca-file (/etc/pve/pve-root-ca.pem).",
                ExitCode.UNREACHABLE,
            )
        if not confirm("Is this the certificate of your host?"):
            raise Ended("The host is not trusted. Nothing was sent to it.", ExitCode.DECLINED)
        return Trust(fingerprints=(digits_of(found.fingerprint),))
    return trust
