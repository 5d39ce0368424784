"""`python -m models.bench`."""

from models.bench.output import main

main()
