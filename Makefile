# `make run` and `make test` each do all of their own set-up.
PYTHON ?= python3
VENV := .venv

.PHONY: run test

run: $(VENV)/installed
	$(VENV)/bin/accord run

test: $(VENV)/installed
	$(VENV)/bin/python -m pytest -q -n 2
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

$(VENV)/installed: setup.cfg pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[test]'
	touch $@
