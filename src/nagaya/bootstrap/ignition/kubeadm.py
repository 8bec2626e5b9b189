"""The script that joins or starts the cluster, and what kubeadm reads there."""

from __future__ import annotations

import shlex
from typing import Any, Final

from nagaya.api.contract.bootstrap import SENTINEL
from nagaya.bootstrap import yaml_text
from nagaya.bootstrap.boot import Boot, kubeadm_command
from nagaya.bootstrap.ignition.files import generated

SCRIPT: Final = "/etc/kubeadm.sh"
CONFIGURATION: Final = "/etc/kubeadm.yml"


def configuration(boot: Boot) -> dict[str, Any]:
    """kubeadm's configuration, which the user's commands may still change."""
    return generated(CONFIGURATION, yaml_text.dump_all(boot.documents), 0o600)


def script(boot: Boot) -> dict[str, Any]:
    """All commands, one after the other; the first that fails ends it. The user's are taken as they are."""
    preparation = boot.preparation
    lines = (
        "#!/bin/bash",
        "set -e",
        *(shlex.join(command) for command in boot.own_commands),
        *preparation.pre_kubeadm_commands,
        shlex.join(kubeadm_command(boot, CONFIGURATION)),
        f"mkdir -p /run/cluster-api && echo success > {SENTINEL}",
        f"mv {CONFIGURATION} /tmp/",
        *preparation.post_kubeadm_commands,
    )
    return generated(SCRIPT, "\n".join(lines) + "\n", 0o700)
