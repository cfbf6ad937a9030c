"""The wire: types, the method table and the closed list of errors. Contains no behavior."""
