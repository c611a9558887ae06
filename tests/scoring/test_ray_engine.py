"""The engine ray: the bytes of the local engine, also when a worker is killed while it works."""

import os
import signal
from pathlib import Path

import pytest

from graphfnp.errors import InvalidConfig
from graphfnp.runs.run import Run
from graphfnp.scoring.score_file import Execution, score_file

psutil = pytest.importorskip("psutil")
pytest.importorskip("ray", reason="the extra cluster is not installed")


def workers_of_ray() -> list[int]:
    """Processes below this one that hold a model for Ray Data."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if any("MapWorker" in word or "MapBatches" in word for word in process.cmdline()):
                found.append(process.pid)
        except psutil.Error:  # gone meanwhile
            continue
    return found


@pytest.mark.parametrize("ending", ["csv", pytest.param("parquet", marks=pytest.mark.slow)])
def test_ray_with_a_killed_worker_writes_the_bytes_of_the_local_engine(
    ending, molecule_run: Run, broken_file: Path, tmp_path: Path, small_chunks
) -> None:
    local, ray = tmp_path / f"local.{ending}", tmp_path / f"ray.{ending}"
    score_file(molecule_run.model, broken_file, local)
    killed: list[int] = []

    def watch(done: int, before: int, total: int) -> None:
        if not killed and done < 500:
            killed.extend(workers_of_ray()[:1])
            for worker in killed:
                os.kill(worker, signal.SIGKILL)

    counts = score_file(molecule_run.model, broken_file, ray, execution=Execution("ray", 2), watch=watch)
    assert killed
    assert counts.rows == 1000
    assert ray.read_bytes() == local.read_bytes()


def test_an_engine_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidConfig, match="local or ray"):
        Execution("spark")  # type: ignore[arg-type]
    with pytest.raises(InvalidConfig, match="add --engine ray"):
        Execution(address="10.0.0.1:6379")


def test_an_address_where_nobody_listens_is_refused_at_once(molecule_run: Run, tmp_path: Path) -> None:
    source = tmp_path / "in.smi"
    source.write_text("CCO\n")
    with pytest.raises(InvalidConfig, match="ray start --head"):
        score_file(molecule_run.model, source, tmp_path / "out.csv", execution=Execution("ray", 1, "127.0.0.1:9"))


@pytest.mark.slow
def test_a_cluster_of_two_nodes_loses_one_and_writes_the_same_bytes(
    molecule_run: Run, broken_file: Path, tmp_path: Path, small_chunks
) -> None:
    from ray.cluster_utils import Cluster

    local, ray = tmp_path / "local.csv", tmp_path / "ray.csv"
    score_file(molecule_run.model, broken_file, local)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    second = cluster.add_node(num_cpus=1)
    lost: list[int] = []

    def watch(done: int, before: int, total: int) -> None:
        if not lost and done < 500:
            lost.append(done)
            cluster.remove_node(second, allow_graceful=False)

    try:
        execution = Execution("ray", 2, cluster.address)
        counts = score_file(molecule_run.model, broken_file, ray, execution=execution, watch=watch)
    finally:
        cluster.shutdown()
    assert lost
    assert counts.rows == 1000
    assert ray.read_bytes() == local.read_bytes()
