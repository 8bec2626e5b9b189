"""Providers of infrastructure, one folder each. None of them knows another."""
