"""Models as archives: the same model comes out, and what is no archive of ours is refused before it is used."""

import io
import json
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

import graphfnp
from graphfnp.cli.app import main
from graphfnp.errors import InvalidConfig, InvalidRun
from graphfnp.runs.archive import opened
from graphfnp.runs.bundles import is_bundled, open_run, own_folder
from graphfnp.runs.card import card_text, model_card
from graphfnp.runs.run import Plan, Run, Start, execute
from graphfnp.training.config import TrainingConfig

Change = Callable[[dict[str, bytes]], dict[str, bytes]]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    graphfnp.export("bbbp", tmp_path / "model.zip")
    return tmp_path / "model.zip"


@pytest.mark.parametrize("lost", ["model.json", "*"])
def test_what_somebody_tidied_up_in_the_cache_is_unpacked_again(lost: str, archive: Path) -> None:
    folder = opened(archive)
    for path in folder.glob(lost):
        path.unlink()
    if lost == "*":
        folder.rmdir()
    assert graphfnp.load_model(archive).id == graphfnp.load_model("bbbp").id


def rewritten(archive: Path, change: Change) -> Path:
    with zipfile.ZipFile(archive) as packed:
        files = {name: packed.read(name) for name in packed.namelist()}
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in change(files).items():
            packed.writestr(name, content)
    return archive


def test_the_model_that_comes_out_is_the_one_that_went_in(archive: Path, capsys: pytest.CaptureFixture) -> None:
    assert graphfnp.load_model(archive).id == graphfnp.load_model("bbbp").id
    with pytest.raises(SystemExit) as end:
        main(["explain", "model.zip", "CCO", "--json"])
    assert not end.value.code
    run = open_run(archive)
    assert run.folder.name == "bbbp"
    assert is_bundled(run)  # nobody writes into what was unpacked
    assert own_folder(run) == Path("runs/bbbp")
    assert Path("runs/bbbp/explanation/explanation.html").is_file()


def test_measures_of_an_earlier_calibration_are_not_those_of_the_model(tmp_path: Path) -> None:
    shutil.copytree(open_run("bbbp").folder, "mine")
    before = model_card(Run(tmp_path / "mine"))
    assert before["measures"]["ece"] == pytest.approx(0.291, abs=1e-3)
    rows = [
        f"{'C' * n}{end},{label}" for n in range(9, 25) for end, label in (("F", "permeable"), ("O", "non-permeable"))
    ]
    Path("mine.csv").write_text("\n".join(["smiles,label", *rows]))
    with pytest.raises(SystemExit) as end:
        main(["calibrate", "mine", "mine.csv", "--smiles", "smiles", "--label", "label"])
    assert not end.value.code
    card = model_card(Run(tmp_path / "mine"))
    assert card["measures"] == {}
    assert "coverage" not in card["conformal"]
    assert card["data"]["class_shares"] == before["data"]["class_shares"]
    assert "on 32 graphs: mine.csv" in card_text(card)


@pytest.mark.parametrize(
    "content",
    ["[]", '{"domain": 7}', '{"label_shift": 5}', '{"calibration": "none"}', '{"accuracy": []}', '{"ece": "low"}'],
)
def test_measures_that_are_not_as_they_were_written_are_an_error_that_names_the_file(content: str) -> None:
    shutil.copytree(open_run("bbbp").folder, "edited")
    Path("edited/metrics.json").write_text(content)
    with pytest.raises(InvalidRun, match=r"edited, whose metrics\.json"):
        model_card(Run(Path("edited")))


@pytest.mark.parametrize(
    "content",
    ["7", "{}", '{"train": ["a"], "validation": [], "test": []}', '{"train": [1], "validation": [1], "test": []}'],
)
def test_a_split_that_is_not_as_it_was_written_is_an_error_that_names_the_file(content: str) -> None:
    shutil.copytree(open_run("ba2motifs").folder, "edited")
    Path("edited/split.json").write_text(content)
    with pytest.raises(InvalidConfig, match=r"edited/split\.json: "):
        Run(Path("edited")).dataset()


@pytest.mark.parametrize("training", [None, {"learning_rate": 10**400}])
def test_a_plan_that_is_not_as_it_was_written_is_an_error_that_names_the_file(training: object) -> None:
    shutil.copytree(open_run("bbbp").folder, "edited")
    record = json.loads(Path("edited/config.json").read_text())
    Path("edited/config.json").write_text(json.dumps(record | {"training": training}))
    with pytest.raises(InvalidRun, match=r"edited/config\.json"):
        Run(Path("edited")).plan  # noqa: B018


def test_epochs_that_are_cut_short_are_an_error_that_names_the_file() -> None:
    shutil.copytree(open_run("bbbp").folder, "edited")
    Path("edited/epochs.jsonl").write_text('{"epoch": 0}\n{"epo')
    with pytest.raises(InvalidRun, match=r"edited/epochs\.jsonl"):
        Run(Path("edited")).history  # noqa: B018


@pytest.mark.parametrize("lost", ["dataset", "command"])
def test_a_record_that_somebody_shortened_is_exported_or_refused_by_name(lost: str) -> None:
    shutil.copytree(open_run("bbbp").folder, "edited")
    record = json.loads(Path("edited/config.json").read_text())
    Path("edited/config.json").write_text(json.dumps({name: one for name, one in record.items() if name != lost}))
    if lost == "command":
        graphfnp.export("edited", "model.zip")
        assert graphfnp.load_model("model.zip").id == graphfnp.load_model("bbbp").id
    else:
        with pytest.raises(InvalidRun, match=r"config\.json without 'dataset'"):
            graphfnp.export("edited", "model.zip")


def test_a_model_in_memory_is_exported_under_the_name_of_the_file() -> None:
    model = graphfnp.load_model("bbbp")
    assert graphfnp.export(model, "mine (v2).zip") == graphfnp.export(model, "again/mine (v2).zip")
    assert graphfnp.load_model("mine (v2).zip").id == model.id
    assert open_run("mine (v2).zip").folder.name == "mine-v2"


def test_the_same_model_gives_the_same_bytes(archive: Path) -> None:
    graphfnp.export("bbbp", "again.zip")
    assert Path("again.zip").read_bytes() == archive.read_bytes()


def test_the_card_has_the_header_that_hubs_read(archive: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        _, header, text = packed.read("README.md").decode().split("---\n", 2)
    fields = yaml.safe_load(header)
    assert (fields["library_name"], fields["pipeline_tag"], fields["datasets"]) == ("graphfnp", "graph-ml", ["bbbp"])
    (results,) = fields["model-index"][0]["results"]
    measured = {metric["type"]: metric["value"] for metric in results["metrics"]}
    card = json.loads((open_run("bbbp").folder / "metrics.json").read_text())
    assert measured["roc_auc"] == pytest.approx(card["auroc"], abs=1e-6)
    assert text.lstrip().startswith("# bbbp")


def test_a_run_of_a_file_leaves_its_path_at_home(tmp_path: Path) -> None:
    home = tmp_path / "home" / "somebody"
    home.mkdir(parents=True)
    rows = [f"{'C' * n}{end}" for n in range(1, 21) for end in ("O,1", "N,0")]
    (home / "mine.csv").write_text("\n".join(["smiles,label", *rows]) + "\n")
    plan = Plan(str(home / "mine.csv"), "vanilla", overrides={"backbone.width": 8}, training=TrainingConfig(epochs=1))
    base = execute(plan, home / "base").folder
    options = {"split": str(base / "split.json")}
    run = execute(replace(plan, start=Start(str(base)), data_options=options), tmp_path / "run")
    graphfnp.export(run.folder, "mine.zip")
    with zipfile.ZipFile("mine.zip") as packed:
        content = b"".join(packed.read(name) for name in packed.namelist())
    assert b"somebody" not in content
    assert b"graphfnp train mine.csv" in content
    assert graphfnp.load_model("mine.zip").id == run.model.id


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda files: {**files, "../evil.json": b"{}"}, "evil"),
        (lambda files: {**files, "/etc/card.json": b"{}"}, "card.json"),
        (lambda files: {**files, "setup.py": b"print('run')"}, "setup.py"),
        (lambda files: {**files, "model.pkl": b"..."}, "model.pkl"),
        (lambda files: {**files, "epochs.jsonl": b"{}"}, "epochs.jsonl"),
        (lambda files: {name: one for name, one in files.items() if name != "domain.safetensors"}, "domain"),
        (lambda files: files | {"metrics.json": b"{}"}, "metrics.json"),
        (lambda files: files | {"manifest.json": b"[]"}, "manifest.json"),
        (lambda files: {**files, "epochs.jsonl": b"0" * (70 << 20)}, "unpack to more"),
    ],
)
def test_what_was_changed_on_the_way_is_refused(archive: Path, change: Change, said: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidRun, match=said):
        graphfnp.load_model(rewritten(archive, change))
    assert not list(tmp_path.rglob("evil.json"))
    assert not list((tmp_path / "cache").rglob("model.safetensors"))  # nothing of it stays


def test_what_is_no_zip_or_has_another_ending_is_refused(tmp_path: Path) -> None:
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(InvalidRun, match="broken"):
        opened(tmp_path / "broken.zip")
    with pytest.raises(InvalidConfig, match=r"\.zip"):
        graphfnp.export("bbbp", tmp_path / "model.tar")
    with pytest.raises(InvalidConfig, match="by itself"):
        graphfnp.export("bbbp,mutagenicity", tmp_path / "both.zip")


def test_a_wrong_ending_is_told_before_rationales_are_looked_for(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    shutil.copytree(open_run("bbbp").folder, "mine")
    Path("mine/decoded.safetensors").write_bytes(b"")  # whoever reads it fails
    with pytest.raises(SystemExit):
        main(["export", "mine", "mine.tar"])
    assert "a file that ends in .zip" in capsys.readouterr().err


def test_a_run_folder_may_be_called_as_an_archive_is() -> None:
    shutil.copytree(open_run("bbbp").folder, "mine.zip")
    assert graphfnp.load_model("mine.zip").id == graphfnp.load_model("bbbp").id


def test_a_run_that_somebody_zipped_is_told_to_be_exported(archive: Path) -> None:
    def without_manifest(files: dict[str, bytes]) -> dict[str, bytes]:
        return {name: one for name, one in files.items() if name != "manifest.json"}

    for change in (without_manifest, lambda files: {f"runs/mine/{name}": one for name, one in files.items()}):
        with pytest.raises(InvalidRun, match="graphfnp export RUN") as refused:
            graphfnp.load_model(rewritten(archive, change))
        assert "opening-" not in refused.value.given  # a folder that is gone when this is read


@pytest.mark.parametrize("name", ["tox(v2)", ".hidden", "ünicode & more"])
def test_a_folder_of_any_name_is_opened_again(name: str, tmp_path: Path) -> None:
    graphfnp.load_model("bbbp").save(tmp_path / name)
    graphfnp.export(tmp_path / name, tmp_path / "model.zip")
    assert graphfnp.load_model(tmp_path / "model.zip").id == graphfnp.load_model("bbbp").id


def test_a_panel_travels_as_one(tmp_path: Path) -> None:
    for name in ("a", "b"):
        graphfnp.load_model("bbbp").save(tmp_path / "panel" / name)
    (tmp_path / "panel" / "panel.json").write_text(
        json.dumps({"format": 1, "endpoints": {"first": "a", "second": "b"}})
    )
    graphfnp.export(tmp_path / "panel", "panel.zip")
    assert {name: model.id for name, model in graphfnp.load_panel("panel.zip").items()} == dict.fromkeys(
        ("first", "second"), graphfnp.load_model("bbbp").id
    )


def test_a_link_in_an_archive_is_refused(archive: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        files = {name: packed.read(name) for name in packed.namelist()}
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        for name, one in files.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = 0o120777 << 16 if name == "card.json" else 0
            packed.writestr(info, one)
    archive.write_bytes(content.getvalue())
    with pytest.raises(InvalidRun, match="a link"):
        opened(archive)
