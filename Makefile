# make demo   everything from nothing: virtual environment, install, build, the main job with figures
# make test   the tests (without the slow ones; `make test-slow` runs those)
# make lint   ruff and mypy
#
# On Debian or Ubuntu this needs python3 (3.11 or newer) with its headers and venv, gcc, make and
# git; whatever is missing is named. Run again, each target does only what is to be done.

SHELL := /bin/sh
VENV ?= .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
PYTEST_FLAGS ?= -n auto
PIP := $(BIN)/python -m pip --disable-pip-version-check
INSTALL := $(PIP) install --quiet --no-build-isolation --config-settings editable_mode=strict

.PHONY: demo test test-slow lint build install install-test clean distclean FORCE

demo: install
	@$(BIN)/bestiary build sea_lion sea_lion_quaternion
	@$(BIN)/bestiary build kangaroo_rat_articulated --set contact=False
	@$(BIN)/bestiary demo

test: install-test
	@$(BIN)/bestiary build
	@$(BIN)/python -m pytest $(PYTEST_FLAGS) -m "not slow"

test-slow: install-test
	@$(BIN)/bestiary build
	@$(BIN)/python -m pytest $(PYTEST_FLAGS) -m slow

lint: install-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

build: install
	@$(BIN)/bestiary build

install: $(VENV)/.installed
install-test: $(VENV)/.installed-test

# A strict editable installation is a tree of links: it is renewed when the list of files changes.
$(VENV)/.installed: $(VENV)/.python $(VENV)/.files pyproject.toml setup.py
	@echo "installing bestiary into $(VENV)"
	@$(INSTALL) --editable .
	@touch $@

$(VENV)/.installed-test: $(VENV)/.python $(VENV)/.files pyproject.toml setup.py
	@echo "installing bestiary and its test tools into $(VENV)"
	@$(INSTALL) --editable ".[test]"
	@touch $@ $(VENV)/.installed

$(VENV)/.python:
	@PYTHON="$(PYTHON)" sh .ci/check_system
	@echo "making the virtual environment $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --quiet "setuptools>=77" wheel
	@touch $@

$(VENV)/.files: $(VENV)/.python FORCE
	@find app build_tools generated modeling solvers -type f \
		\( -name '*.py' -o -name '*.jinja' \) | LC_ALL=C sort > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

clean:
	rm -rf build dist bestiary.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache
	rm -f generated/*/_kernel.*.so generated/*/_kernel.stamp.json $(VENV)/.installed*
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV)
