"""A process that opens a store, prints `open` or why it was refused, and holds the store until its input ends.

With a user id it first gives up its rights and becomes that user.
Usage: opening_process.py DIRECTORY [USER]
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from nagaya.apiserver.storage import ANY, DataRefused, StorageFailure, open_store
from nagaya.world import SystemClock


async def become(user: int) -> None:
    """Everything is used once before, because afterwards the modules may be unreadable."""
    with tempfile.TemporaryDirectory() as directory:
        store = await open_store(Path(directory) / "data", SystemClock())
        await store.put("configmaps", "a", lambda _: b"{}", expected=ANY)
        await store.close()
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)


async def main() -> None:
    if len(sys.argv) > 2:
        await become(int(sys.argv[2]))
    try:
        store = await open_store(Path(sys.argv[1]), SystemClock())
        await store.put("configmaps", f"{os.getpid()}", lambda _: b"{}", expected=ANY)
    except (DataRefused, StorageFailure) as refusal:
        print(f"{type(refusal).__name__}: {refusal}", flush=True)
        return
    print("open", flush=True)
    sys.stdin.readline()
    await store.close()
    print("closed", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
