"""What the server does by itself: collect garbage, finish namespaces, keep defaults in place."""
