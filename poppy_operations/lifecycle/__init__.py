"""The only code that writes the rows of operations. Every transition is one conditional UPDATE."""
