"""Figures in the dialects that are asked for."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, Counter, Histogram

from nagaya.wire import exposition


@pytest.mark.parametrize(
    ("accept", "content_type", "end"),
    [
        ("", "text/plain", "\n"),
        ("application/openmetrics-text; version=1.0.0", "application/openmetrics-text", "# EOF\n"),
    ],
)
def test_a_page_is_in_the_dialect_that_is_asked_for(accept: str, content_type: str, end: str) -> None:
    registry = CollectorRegistry()
    Counter("calls", "Calls so far.", registry=registry).inc()
    body, said = exposition.page(registry, accept)
    assert said.startswith(content_type)
    assert "calls_total 1.0\n" in body.decode()
    assert body.decode().endswith(end)


@pytest.mark.parametrize("accept", ["", "application/openmetrics-text; version=1.0.0"])
def test_no_series_says_when_another_began(accept: str) -> None:
    registry = CollectorRegistry()
    Counter("calls", "Calls so far.", registry=registry).inc()
    Histogram("waits", "Seconds.", registry=registry).observe(1)
    assert b"_created" not in exposition.page(registry, accept)[0]
