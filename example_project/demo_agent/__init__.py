"""Alice's Personal Agent, as a page to click through: a site, a port and keys of its own.

It is not part of the shop: no script of the shop's can reach an agent's keys.
"""
