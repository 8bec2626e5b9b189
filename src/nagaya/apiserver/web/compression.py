"""Long answers are compressed for clients that ask for it, as the real server does from the same size on.

Go's clients ask always. What is won on a network is lost on loopback, but not by the server: the work is done in
another thread, and the event loop goes on. Only a few answers are compressed at the same time; with more to do the
others are sent as they are.
"""

from __future__ import annotations

import asyncio
import gzip
import threading
from typing import Final

from nagaya.apiserver.web.request import Request, Response

THRESHOLD: Final = 128 * 1024
_AT_ONCE: Final = 2
_LEVEL: Final = 1  # the fastest; JSON shrinks to a tenth even so

_places: Final = threading.Semaphore(_AT_ONCE)  # of the process: all its servers share its processors


async def compress(request: Request, response: Response) -> None:
    """Compress an answer in place, if it is long and the client wants it so."""
    if len(response.body) <= THRESHOLD or not _is_wanted(request.headers.get("accept-encoding", "")):
        return
    if not _places.acquire(blocking=False):
        return
    try:
        response.body = await asyncio.to_thread(gzip.compress, response.body, _LEVEL, mtime=0)
    finally:
        _places.release()
    response.headers += [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]


def _is_wanted(header: str) -> bool:
    # Weights are not read, as in the real server: with one, gzip counts as not asked for.
    return "gzip" in (each.strip() for each in header.split(","))
