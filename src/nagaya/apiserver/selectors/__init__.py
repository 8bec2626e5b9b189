"""Which objects a client means: by their labels, by a few of their fields, by a selector in another object."""
