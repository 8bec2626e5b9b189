"""Stand-ins that ship with the product, so that everyone can try it without hardware."""
