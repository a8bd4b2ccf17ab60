"""Tables: hashing, encoding of typed columns, linear models of sparse rows."""
