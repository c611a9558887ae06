"""Measures and predictions on the screen: what stands there is true of few graphs and odd names too."""

from rich.console import Console

from graphfnp.cli.console import metrics_table
from graphfnp.cli.prediction_table import also_possible


def shown(metrics: dict) -> str:
    console = Console(width=200, record=True, quiet=False, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(metrics_table(metrics, "title"))
    return console.export_text()


def test_one_graph_is_one_graph_and_says_nothing_of_the_true_error() -> None:
    told = shown({"num_graphs": 1, "accuracy": 1.0, "ece": 0.3, "ece_interval": None, "ece_floor": 0.4})
    assert "1 graph;" in told
    assert "too few graphs for an interval; a perfect model would show 40.0%" in told
    told = shown({"num_graphs": 90, "accuracy": 1.0, "ece": 0.3, "ece_interval": [0.1, 0.4], "ece_floor": 0.4})
    assert "90 graphs;" in told
    assert "true value between 10.0% and 40.0% (95 %)" in told


def test_a_class_called_minus_is_told_from_no_class() -> None:
    assert also_possible({"class": "+", "conformal_set": ["+"]}) == "-"
    assert also_possible({"class": "+", "conformal_set": ["+", "-"]}) == "'-'"
    assert also_possible({"class": "+", "conformal_set": ["-"]}) == "only '-'"


def test_a_class_whose_name_holds_a_comma_is_told_from_two_classes() -> None:
    record = {"class": "none", "conformal_set": ["none", "strong", "weak, maybe"]}
    assert also_possible(record) == "strong, 'weak, maybe'"
