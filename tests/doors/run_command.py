"""The command line as a user runs it, in this process."""

import pytest

from graphfnp.cli.app import main


def said(capsys: pytest.CaptureFixture, *words: object, code: int = 0) -> tuple[str, str]:
    """What a command printed, and what it said beside that on standard error in one line; it must end with ``code``."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main([str(word) for word in words])
    captured = capsys.readouterr()
    assert (end.value.code or 0) == code, captured.err
    return captured.out, " ".join(captured.err.split())
