"""What is said when no management API can be asked: why, and which kubeconfig would be better.

Most often a kubeconfig is older than the server it leads to: the data folder was made anew, and with it the authority.
Then the server runs, and starting it would not help.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from nagaya.cli.usual_kubeconfig import own_kubeconfig

if TYPE_CHECKING:
    from nagaya.kube.transport import NoAnswer


def unanswered(error: NoAnswer) -> str:
    """Why a call had no answer, and what to do, as sentences."""
    why = error.why.rstrip(".")
    if "certificate" in why:
        return (
            f"What answers is not the server of this kubeconfig: {why}. It is another one, or was made "
            f"anew since the kubeconfig was written. {better_kubeconfig()}"
        )
    if "closed the connection" in why or "broke" in why:
        return (
            f"The management API does not answer: {why}. If it runs, this kubeconfig is not for it, or is "
            f"older than it: a certificate of another authority is turned away without a word. {better_kubeconfig()}"
        )
    return (
        f"The management API does not answer: {why}. Start it with `nagaya up`, or name another with "
        "--kubeconfig or --context."
    )


def unusable(sentence: str) -> str:
    """Why there is no kubeconfig that can be used, and where one is."""
    if "there is no context" in sentence:
        return sentence
    if own_kubeconfig() is None:
        return f"{sentence.rstrip('.')}. `nagaya up` starts a management API and writes one."
    return f"{sentence.rstrip('.')}. {better_kubeconfig()}"


def better_kubeconfig() -> str:
    """Which one to take instead."""
    own = own_kubeconfig()
    if own is None:
        return "Name another with --kubeconfig or --context."
    return f"That of `nagaya up` on this machine: export KUBECONFIG={shlex.quote(str(own))}"
