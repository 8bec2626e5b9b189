"""kubectl as a tenant's administrator uses it, with a kubeconfig and nothing else."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class TenantKubectl:
    """The program and the kubeconfig. Calling it returns what it printed."""

    program: Path
    kubeconfig: Path

    async def __call__(self, *words: str, timeout: float = 120.0) -> str:
        """What it says; fails the test, with its own words, if it fails."""
        process = await asyncio.create_subprocess_exec(
            self.program,
            *words,
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(timeout):
                said, complained = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode == 0, f"kubectl {' '.join(words)}: {complained.decode()}"
        return said.decode()

    async def objects(self, *words: str) -> list[dict[str, Any]]:
        """What `kubectl get` finds."""
        items: list[dict[str, Any]] = json.loads(await self("get", *words, "-o", "json"))["items"]
        return items
