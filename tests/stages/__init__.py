"""Which tests run together, in ``make test`` or in a stage of ``.ci/run``."""
