"""The notebooks run from top to bottom."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "notebooks").glob("*.ipynb"))


def test_every_notebook_is_listed() -> None:
    assert {n.stem for n in NOTEBOOKS} >= {
        "01_sea_lion",
        "02_kangaroo_rat",
        "04_optimal_control",
        "05_righting",
        "06_supporting",
    }


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda n: n.stem)
def test_a_notebook_runs_from_top_to_bottom(notebook: Path, tmp_path: Path) -> None:
    content = nbformat.read(notebook, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(content, timeout=600, resources=resources).execute()
