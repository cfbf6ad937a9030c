"""The tools. `table` lists them; each has a type for its arguments, whose docstring is its description."""
