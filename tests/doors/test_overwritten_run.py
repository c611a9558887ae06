"""``train --overwrite``: nothing of the model before is told of the one after it."""

from pathlib import Path

from run_command import said

from graphfnp.cli.commands import LOCK
from graphfnp.files import locked
from graphfnp.rationales.store import DECODED
from graphfnp.runs.run import PAGE, Run

TINY = ["--epochs", 1, "--split", "part", "--set", "backbone.width=8", "--set", "decoder.width=8"]


def test_a_run_that_is_overwritten_keeps_no_page_and_no_rationales_of_the_model_before(tmp_path: Path, capsys) -> None:
    table, folder = tmp_path / "in.csv", tmp_path / "run"
    rows = [f"{'C' * n}{end},{end},{'valid' if n > 8 else 'train'}" for n in range(1, 11) for end in "NOS"]
    table.write_text("\n".join(["smiles,label,part", *rows]) + "\n")
    said(capsys, "train", table, "-o", folder, *TINY)
    before = (folder / DECODED).read_bytes()
    assert "There is no test part" in (folder / PAGE).read_text()
    said(capsys, "train", table, "-o", folder, *TINY, "--classes", "N,O", "--no-report", "--overwrite")
    assert not (folder / PAGE).exists()
    assert not (folder / DECODED).exists()
    (folder / DECODED).write_bytes(before)  # as runs of earlier versions have it
    said(capsys, "rationales", folder)
    page = (folder / "rationales" / "gallery.html").read_text()
    assert "Held-out graphs and rationales" in page  # there is no test part
    assert (folder / DECODED).read_bytes() != before


def test_two_trainings_do_not_share_a_folder(tmp_path: Path, capsys) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    with locked(folder / LOCK, folder):
        _, told = said(capsys, "train", "ba2motifs", "-o", folder, "--limit", 20, *TINY[:2], code=2)
    assert "which another process is writing now" in told
    (folder / LOCK).write_text("")  # of one that was killed
    said(capsys, "train", "ba2motifs", "-o", folder, "--limit", 20, *TINY[:2], *TINY[4:], "--no-report")
    assert Run(folder).model.provenance is not None
    assert not (folder / LOCK).exists()
