"""A process that writes as fast as it can until it is killed, and says which writes were acknowledged.

Each client has keys of its own and counts its writes, so that whoever reads the data afterwards knows what must be
there. A line goes to standard output only after the store has acknowledged the write: `client key count revision what`.
Usage: writing_process.py DIRECTORY ROUND
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import os
import random
import sys
from pathlib import Path

import orjson
import uvloop

from nagaya.apiserver.storage import ANY, Retention, Store, open_store
from nagaya.world import SystemClock

CLIENTS = 32
KEYS_PER_CLIENT = 5


def content(count: int) -> str:
    """Text of some length which only this count has: a mixture of two writes would be noticed."""
    digest = hashlib.sha256(str(count).encode()).hexdigest()
    return digest * (1 + count % 40)


async def write(store: Store, client: int, first: int, choices: random.Random) -> None:
    """Write, and acknowledge on the pipe, for ever."""
    count = first
    while True:
        count += 1
        key = f"{client}/{choices.randrange(KEYS_PER_CLIENT)}"
        if store.get("configmaps", key) is not None and choices.random() < 0.2:
            record = await store.delete("configmaps", key)
            what = "delete"
        else:
            record = await store.put("configmaps", key, functools.partial(encode, count), expected=ANY)
            what = "put"
        os.write(1, f"{client} {key} {count} {record.revision} {what}\n".encode())


def encode(count: int, revision: int) -> bytes:
    return orjson.dumps({"metadata": {"resourceVersion": str(revision)}, "count": count, "content": content(count)})


async def compact(store: Store) -> None:
    """Keep the removal of old rows going, so that kills hit it, too."""
    while True:
        await asyncio.sleep(0.02)
        store.compact(store.revision - 300)


async def main() -> None:
    directory, number = Path(sys.argv[1]), int(sys.argv[2])
    store = await open_store(directory, SystemClock(), Retention(interval_seconds=0.05))
    choices = random.Random(number)
    writers = (write(store, client, number * 1_000_000, choices) for client in range(CLIENTS))
    await asyncio.gather(compact(store), *writers)


if __name__ == "__main__":
    uvloop.run(main()) if int(sys.argv[2]) % 2 else asyncio.run(main())
