"""Boot data: what a machine is told before and at its first start, in each form that a guest may need.

Pure: everything here makes bytes and options from what it is given. `network` is what is told about the network;
`nocloud` makes the files of a seed, `iso9660` the CD image with them; `ignition` adds to an Ignition configuration;
`native` is for places where no image may be uploaded; `mac_address` makes hardware addresses that stay.
"""
