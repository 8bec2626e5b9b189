"""How Nagaya talks to any Kubernetes API."""
