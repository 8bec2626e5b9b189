"""Calls out of the server: to the webhooks that admission and conversion ask."""
