"""TLS to an API server: who is trusted, and the certificate that is shown.

Verification is on unless the kubeconfig itself says otherwise.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from nagaya.kube.credentials import Proof


def context_for(proof: Proof, *, insecure: bool) -> ssl.SSLContext:
    """How to connect with these credentials. Raises ValueError, without content, for PEM that cannot be used."""
    try:
        text = None if proof.authority is None else proof.authority.decode("ascii", errors="replace")
        context = ssl.create_default_context(cadata=text)
    except (ssl.SSLError, ValueError) as error:
        raise ValueError("the certificate authority of the kubeconfig cannot be read: it must be PEM") from error
    # Newer Pythons refuse authorities that lack extensions which Kubernetes has never asked for.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if proof.pair is not None:
        certificate, key = proof.pair
        with _as_file(certificate.rstrip() + b"\n" + key) as path:
            try:
                context.load_cert_chain(path, password=_no_password)
            except (ssl.SSLError, ValueError) as error:
                message = (
                    "the client certificate and key of the kubeconfig cannot be used: they must be PEM, unencrypted"
                )
                raise ValueError(f"{message}, and belong together") from error
    return context


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """A path to read from, as the library takes nothing else. Where the system can, it leads to memory only."""
    if hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd"):
        descriptor = os.memfd_create("nagaya")
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{descriptor}"
    else:
        with tempfile.NamedTemporaryFile(prefix="nagaya-") as file:  # its owner's alone, gone when the block is left
            file.write(content)
            file.flush()
            yield file.name


def _no_password() -> str:
    # Otherwise the library would ask on the terminal.
    raise ValueError("the key is encrypted")
