"""Each is a thin wrapper of a public function."""
