"""Control planes that run beside Nagaya: as processes of one machine, or as pods of a management cluster.

`components` says what each program is started with, whatever starts it; `kubernetes` makes pods of that; `data_store`
keeps the data of tenants apart; `tenant` sets up what is inside.
"""
