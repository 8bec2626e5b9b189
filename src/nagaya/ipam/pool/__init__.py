"""How a pool is looked after: one look at a time, at everything that concerns it.

`controller` is the flow, `seen` what it reads, `plan` what it decides (`choice` of addresses, `cleaning` up of what has
lost its claim), `apply` the calls, `status` what is told. `ledger` is the state of single addresses, of which the
IPAddressReservations are the record, and `usage` counts them.

Why no address is given twice, whoever crashes, lags or takes over: before an IPAddress is made, the reservation that
bears the name of its address is made or taken over, which the API server lets only one do; then the entry of the same
address on the other side (global or of a namespace) is read from the server, not from the cache. Whoever comes second
on either side sees the first and steps back. What is given back rests: a call that was sent before and arrives late
finds the address unused.
"""
