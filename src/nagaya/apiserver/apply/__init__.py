"""Server-side apply and the record of who set which field (`metadata.managedFields`).

`manager` is the door; the other modules are its parts, from single path elements (`path_element`) over sets of
fields (`fieldset`) and operations on typed values (`compare`, `merge`, `removal`, `value_set`, `validation`) to the
algorithm itself (`updater`).
"""
