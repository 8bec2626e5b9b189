"""What can be wrong with a template."""

from __future__ import annotations


class TemplateError(ValueError):
    """A template that cannot be read or carried out. The message says where, as Go does."""


class CallError(Exception):
    """A function refuses its arguments. Where that was is added by whoever called it."""
