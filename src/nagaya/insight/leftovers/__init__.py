"""What is left of things that are gone, in all places that a management API leads to. Nothing here ever removes it."""
