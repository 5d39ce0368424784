# Each target does all of its own set-up; `make install` does only that.
PYTHON ?= python3
VENV := .venv

.PHONY: install run test test-quick test-long types docs notebooks

install: $(VENV)/installed

run: $(VENV)/installed
	$(VENV)/bin/accord run

# Each process takes half of the tests as they stand, so that those of a file share what they have
# made, and then half of what the other has left. What one of the hundred processes that the tests
# start has compiled the next one reads, even where the environment says not to keep it.
PYTEST := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest -q -n 2 --dist worksteal

test: $(VENV)/installed
	$(PYTEST)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

# Without the tests marked `slow`, and with fewer examples.
test-quick: $(VENV)/installed
	$(PYTEST) -m "not long and not slow" --hypothesis-profile quick

# The types of the public API and of models/; what is checked stands in setup.cfg.
types: $(VENV)/installed
	$(VENV)/bin/mypy

# The tests marked `long`, which the others leave out.
test-long: $(VENV)/installed
	$(PYTEST) -m long --hypothesis-profile long

# The documentation as a site, in site/; a link or an anchor that leads nowhere is an error.
docs: $(VENV)/installed
	$(VENV)/bin/python .ci/install.py docs
	$(VENV)/bin/mkdocs build --strict

# The notebooks in a browser; Jupyter, whose files constraints.txt does not name, is installed first.
notebooks: $(VENV)/installed
	$(VENV)/bin/pip install --quiet 'jupyterlab>=4.2'
	$(VENV)/bin/jupyter lab notebooks

$(VENV)/installed: setup.cfg pyproject.toml constraints.txt .ci/install.py
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python .ci/install.py test
	for judge in kenlm pynini; do \
	    $(VENV)/bin/python .ci/install.py $$judge 2>/dev/null \
	        || echo "$$judge could not be installed, which may take a C++ compiler: the tests that ask it are skipped"; \
	done
	touch $@
