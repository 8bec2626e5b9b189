"""Nagaya runs Kubernetes clusters as tenants of your own hardware.

The rooms of the house and which of them may know which are told in docs/architecture.md and enforced by
import-linter; nothing is imported here, so that `nagaya --help` stays fast.
"""

__version__ = "0.1.0"
