"""Who may change or refuse a write after it is decoded and before it is stored."""
