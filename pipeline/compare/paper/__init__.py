"""The LL-RNN paper: its figures and tables, ours beside them."""
