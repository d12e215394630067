"""A payment company, played by a file of its own outside the shop's database."""
