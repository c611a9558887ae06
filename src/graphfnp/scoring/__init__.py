"""Bulk scoring: a file of molecules in, a file of records out, row by row, in constant memory and restartable."""
