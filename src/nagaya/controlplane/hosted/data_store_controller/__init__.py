"""DataStores: started where Nagaya starts them itself, asked how they are, kept as long as somebody has data there.

`Stores` (stores.py) is what others use: the store behind a DataStore, for those who need to do something in it.
"""
