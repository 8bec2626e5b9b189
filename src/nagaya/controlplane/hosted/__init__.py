"""Control planes that run beside Nagaya: as processes of one machine, or as pods of a management cluster.

`components` says what each program is started with, whatever starts it; `kubernetes` makes pods of that; `data_store`
keeps the data of tenants apart, and `data_store_controller` looks after it; `tenant` sets up what is inside. `host`
runs tenants on this machine, and `control_plane` brings all of it together there; `pods` does the same in a management
cluster. `archive` copies a tenant out and in.
"""
