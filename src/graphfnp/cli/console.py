"""What the command line shows: progress, tables of measures, and errors that say what to do."""

import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Column, Table

from graphfnp.errors import GraphFNPError, plural

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

INTERRUPTED, TERMINATED = 130, 143  # 128 and the number of the signal
MOST_CLASSES = 6  # told one by one in a cell of a table


def say(text: str, style: str | None = None, console: Console = err) -> None:
    """A line of plain text: brackets in names of files and molecules are no markup. In a file it stays one line."""
    console.print(text, style=style, markup=False, soft_wrap=not console.is_terminal)


def note(text: str, console: Console = err) -> None:
    say(f"note: {text}", "yellow", console)


def percent(value: Any) -> str:
    return "-" if value is None else f"{value:.1%}"


def number(value: Any) -> str:
    return "-" if value is None else f"{value:.3f}"


def metrics_table(metrics: Mapping[str, Any], title: str, own_mix: Sequence[float] | None = None) -> Table:
    """The measures a reader asks for first, each with what it is compared with.

    ``own_mix`` are the class shares of the graphs judged, where no label shift among the measures says them.
    """
    table = Table("measure", "value", "compare with", title=title, box=SIMPLE_HEAD, title_justify="left")
    always = f"majority class: {percent(metrics.get('accuracy_of_majority'))}"
    judged = plural(metrics["num_graphs"], "graph")
    table.add_row("accuracy", percent(metrics.get("accuracy")), f"{judged}; {always}")
    table.add_row("AUROC", number(metrics.get("auroc")), "0.5 is chance")
    interval = "too few graphs for an interval"
    if between := metrics.get("ece_interval"):
        interval = f"true value between {' and '.join(map(percent, between))} (95 %)"
    floor = f"a perfect model would show {percent(metrics.get('ece_floor'))}"
    table.add_row("ECE", percent(metrics.get("ece")), f"{interval}; {floor}")
    if metrics.get("ece_positive_class") is not None:
        floor = f"a perfect model would show {percent(metrics.get('ece_positive_class_floor'))}"
        table.add_row(f"ECE of p({escape(_names(metrics)[1])})", percent(metrics["ece_positive_class"]), floor)
    table.add_row("NLL", number(metrics.get("nll")), "lower is better")
    table.add_row("Brier", number(metrics.get("brier")), "lower is better; 0 to 2")
    if metrics.get("label_mix"):
        table.add_row("label mix", "", escape(_mix_told(metrics, own_mix)))
    if metrics.get("conformal"):
        table.add_row(*conformal_row(metrics["conformal"]))
    if metrics.get("decision"):
        table.add_row(*_decision_row(metrics["decision"], _names(metrics)))
    if metrics.get("domain"):
        table.add_row(*_domain_row(metrics["domain"]))
    if metrics.get("label_shift"):
        table.add_row(*_label_shift_row(metrics["label_shift"]))
    if "rationale_f1" in metrics:
        for k, value in metrics["rationale_f1"].items():
            macro = percent(metrics["rationale_f1_macro"][k])
            constant = percent(metrics["rationale_f1_constant"])
            table.add_row(f"Rationale F1, K={k}", percent(value), f"macro {macro}; always one class {constant}")
    return table


def _mix_told(metrics: Mapping[str, Any], own: Sequence[float] | None) -> str:
    """The mix that the probabilities assume, and that of the graphs judged where it is another."""
    from graphfnp.prediction.label_mix import mix_told

    if shift := metrics.get("label_shift"):
        own = shift["shares"].get(shift["estimated"]["part"])
    assumed, other = mix_told(metrics["label_mix"], own, _names(metrics), metrics["num_graphs"])
    if not other or metrics.get("ece_at_mix") is None:
        return "; ".join(filter(None, (assumed, other)))
    return f"{assumed} (ECE weighted to this mix: {percent(metrics['ece_at_mix'])}); {other}"


def _names(metrics: Mapping[str, Any]) -> Sequence[str]:
    return [str(name) for name in metrics["classes"]]


def conformal_row(facts: Mapping[str, Any]) -> tuple[str, str, str]:
    coverage = facts["coverage_per_class"]
    each = " / ".join(percent(value) for value in coverage)
    if len(coverage) > MOST_CLASSES:
        known = [value for value in coverage if value is not None]
        each = f"from {percent(min(known, default=None))} to {percent(max(known, default=None))}"
    size = f"{number(facts['mean_size'])} classes per set, {percent(facts['singletons'])} have one"
    return f"{facts['level']:.0%} set coverage", percent(facts["coverage"]), f"by class {each}; {size}"


def _decision_row(facts: Mapping[str, Any], names: Sequence[str]) -> tuple[str, str, str]:
    sure = " and ".join(percent(end) for end in facts["precision_interval"] or (None, None))
    told = f"from p = {facts['threshold']:.3f}: {facts['said']} predicted, precision between {sure} (90 %), "
    told += f"recall {percent(facts['recall'])}"
    return f"{escape(names[facts['positive']])} precision", percent(facts["precision"]), told


def _domain_row(verdicts: Mapping[str, Mapping[str, Any]]) -> tuple[str, str, str]:
    """The share of graphs in the domain, and how accurate the model is by verdict."""
    from graphfnp.prediction.domain import VERDICTS

    known = sum(facts["graphs"] for facts in verdicts.values())
    said = [f"{name} {facts['graphs']}{_right(facts)}" for name, facts in verdicts.items()]
    return VERDICTS[0], percent(verdicts[VERDICTS[0]]["graphs"] / known), "; ".join(said)


def _right(facts: Mapping[str, Any]) -> str:
    return f" ({percent(facts['accuracy'])} right)" if facts["graphs"] else ""


def _label_shift_row(facts: Mapping[str, Any]) -> tuple[str, str, str]:
    """Validation against test, and the share of the second class in each part; of all if there are more than two."""

    def mix(shares: Sequence[float] | None) -> str:
        return "-" if shares is None else "/".join(f"{s:.0%}" for s in (shares[1:] if len(shares) == 2 else shares))

    distance = facts["distance"].get("validation to test") or max(facts["distance"].values(), default=0.0)
    if len(facts["classes"]) > MOST_CLASSES:
        told = ", ".join(f"{parts} {percent(value)}" for parts, value in facts["distance"].items())
        return "label shift", percent(distance), f"share of labels that differ: {told}"
    names = facts["classes"][1:] if len(facts["classes"]) == 2 else facts["classes"]
    shares = ", ".join(f"{part} {mix(value)}" for part, value in facts["shares"].items())
    guess = facts["estimated"]
    told = f"{guess['part']} estimated {mix(guess['em'])} (EM), {mix(guess['bbse'])} (BBSE)"
    return "label shift", percent(distance), f"share of {'/'.join(map(str, names))}: {shares}; {told}"


def end_well_on_sigterm() -> None:
    """Like Ctrl-C: what was begun is put away, above all copies of the input in the folder for temporary files."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(TERMINATED))


@contextmanager
def explained_errors() -> Iterator[None]:
    """Errors a user can mend end the program in a few lines with exit code 2; Ctrl-C with 130; warnings are notes."""
    try:
        with warnings.catch_warnings():
            usual = warnings.showwarning

            def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
                """What users are warned of comes without a line of code."""
                note(str(message)) if category is UserWarning else usual(message, category, *place, **more)

            warnings.showwarning = show
            yield
    except GraphFNPError as error:
        lines = (("given", error.given), ("expected", error.expected), ("what to do", error.to_do))
        body = Table.grid("", Column(overflow="fold"), padding=(0, 2, 0, 0))  # long paths are not cut
        for name, text in lines:
            body.add_row(f"[bold]{name}[/bold]", escape(text))
        err.print(Panel(body, title=type(error).__name__, border_style="red", expand=False, highlight=False))
        sys.exit(2)
    except OSError as error:  # a full disk, a folder that may not be written; a pipe that was closed is nobody's error
        if isinstance(error, BrokenPipeError):
            raise
        where = f"{error.filename}: " if error.filename else ""
        err.print(f"[bold red]{escape(where + (error.strerror or str(error)))}[/bold red]")
        err.print("free some space, or choose a path with read and write permission; then run the same command again")
        sys.exit(2)
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "can't allocate memory" not in str(error):  # as PyTorch says it
            raise
        err.print(f"[bold red]{escape(str(error) or 'not enough memory')}[/bold red]")
        err.print(
            "this needs more memory than there is: ask for less at a time (rows, draws, a batch), or for more memory"
        )
        sys.exit(2)
    except SystemExit as stop:
        if stop.code in (INTERRUPTED, TERMINATED):  # Typer has caught Ctrl-C
            err.print("stopped; continue training with --resume, scoring with the same command")
        raise
