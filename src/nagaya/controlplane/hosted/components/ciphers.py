"""What the servers of a control plane agree to talk by: TLS 1.2 or newer, with forward secrecy and authentication."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nagaya.api.controlplane.argument_values import CIPHER_SUITES

TLS: Final[Mapping[str, str]] = {"tls-cipher-suites": ",".join(CIPHER_SUITES), "tls-min-version": "VersionTLS12"}
