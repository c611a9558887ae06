"""Reports that several tests look at, built once."""

import os
from pathlib import Path

import pytest
from sample_reports import ba2motifs_report, bbbp_report

from graphfnp.report.page import write_report
from graphfnp.report.record import Report


@pytest.fixture(scope="session")
def ba2motifs() -> Report:
    return ba2motifs_report(60)


@pytest.fixture(scope="session")
def written(ba2motifs: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(ba2motifs, tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="session")
def bbbp() -> Report:
    folder = os.environ.get("GRAPHFNP_DATA")
    if folder is None or not (Path(folder) / "BBBP" / "BBBP.csv").exists():
        pytest.skip("GRAPHFNP_DATA does not name a folder with BBBP/BBBP.csv")
    return bbbp_report(Path(folder), 30)
