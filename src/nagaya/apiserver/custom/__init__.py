"""Custom resources at run time: definitions come alive here, are served, converted, and go away again."""
