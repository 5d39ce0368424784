"""A model in its small form: what inference needs, each thing once, packed and read on demand."""
