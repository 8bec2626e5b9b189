"""Figures as Prometheus reads them: the text of a registry, in the dialect that is asked for.

Counters and histograms have no second series that says when each began: kube-apiserver has none either, and it would
double what is kept of every one.
"""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, disable_created_metrics
from prometheus_client.exposition import choose_encoder

_without_beginnings: Callable[[], None] = disable_created_metrics  # the library says no types of it
_without_beginnings()


def page(registry: CollectorRegistry, accept: str) -> tuple[bytes, str]:
    """What is answered to a request with this `Accept`, and its content type."""
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type
