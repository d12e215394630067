"""The test site beside other packages, each on a site of its own."""
