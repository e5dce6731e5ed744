"""`twofold reproduce` as a user runs it."""

import pytest

from twofold.cli import main


def _run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["twofold", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0)


def test_it_prints_a_table_and_a_report_can_be_made(tmp_path, monkeypatch, capsys):
    runs = tmp_path / "runs"
    options = ("--epochs", "1", "--seeds", "2", "--methods", "twofold,raw", "--out", str(runs))
    assert _run(monkeypatch, "reproduce", "digits", *options, "--device", "cpu") == 0
    printed = capsys.readouterr().out
    assert "Raw features" in printed
    assert "4 records" in printed
    page, tables = tmp_path / "page.html", tmp_path / "tables.md"
    assert (
        _run(monkeypatch, "report", str(runs), "--out", str(page), "--markdown", str(tables)) == 0
    )
    assert "Raw features" in page.read_text(encoding="utf-8")
    assert "| Twofold |" in tables.read_text(encoding="utf-8")


def test_kinds_never_seen_have_a_table_and_a_part_of_the_page(tmp_path, monkeypatch, capsys):
    runs, page = tmp_path / "runs", tmp_path / "page.html"
    options = ("--epochs", "1", "--methods", "twofold-unseen,raw", "--out", str(runs))
    assert _run(monkeypatch, "reproduce", "digits", "--unseen", *options, "--device", "cpu") == 0
    printed = capsys.readouterr().out
    assert "scikit-learn's digits 0–4 → 5–9" in printed
    assert "MAP@R" in printed
    assert "2 records are in" in printed
    assert _run(monkeypatch, "report", str(runs), "--out", str(page)) == 0
    written = page.read_text(encoding="utf-8")
    assert "Kinds never seen" in written
    assert written.count('class="asked"') == 8


def test_a_bar_is_full_once_a_run_is_scored_and_not_before():
    from twofold.cli._epoch_bars import RunBars, epoch_bars
    from twofold.experiments import UNSEEN_METHODS, Run

    progress = epoch_bars(width=24)
    bars, run = RunBars(progress), Run(UNSEEN_METHODS["twofold-unseen"], 1)
    for epoch in range(4):
        bars.show(run, epoch, 3, None)
        assert not progress.tasks[0].finished
    bars.show(run, 3, 3, 0.75)
    (bar,) = progress.tasks
    assert bar.finished
    assert (bar.description, bar.fields["auroc"]) == ("Twofold, unseen, seed 1", "0.7500")


def test_omniglot_is_not_downloaded_where_it_is(tmp_path, monkeypatch, capsys):
    opened = []
    monkeypatch.setattr("twofold.experiments.open_unseen", lambda *given: opened.append(given))
    options = ("--unseen", "--download", "--methods", "magic", "--out", str(tmp_path))
    assert _run(monkeypatch, "reproduce", "omniglot", *options) == 2
    assert [protocol.name for protocol, _ in opened] == ["unseen-omniglot-1", "unseen-omniglot-2"]
    assert "'magic'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("digits", "--methods", "magic"), "There is no method 'magic'"),
        (("digits", "--seeds", "many"), "--seeds takes a number"),
        (("digits", "--seeds", "0"), "--seeds takes a number of at least 1"),
        (("mnist", "--data-dir", "nowhere"), "The data folder nowhere does not exist"),
        (("pubfig83", "--data-dir", "nowhere", "--download"), "has no public download: put each"),
        (("digits", "--device", "quantum"), "quantum"),
        (("omniglot",), "only has protocols for kinds never seen: add --unseen."),
        (
            ("yeast", "--unseen"),
            "have several labels each: choose one of mnist, cifar10, pubfig83,",
        ),
        (("nuswide", "--unseen"), "nuswide cannot be split into kinds seen and never seen"),
        (("digits", "--unseen", "--methods", "fml-c"), "no method 'fml-c' for kinds never seen"),
        (("omniglot", "--unseen", "--data-dir", "nowhere"), "The data folder nowhere does not"),
        (("digits", "--unseen", "--bits", "8"), "--unseen and --bits are different protocols"),
        (("digits", "--bits", "many"), "--bits takes a number, or numbers separated by commas"),
        (("digits", "--bits", "0"), "bits must be at least 1, got 0"),
        (("digits", "--bits", "8", "--methods", "fml-c"), "no method 'fml-c' of codes"),
        (("omniglot", "--bits", "8"), "only has protocols for kinds never seen: add --unseen."),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments, sentence, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert _run(monkeypatch, "reproduce", *arguments) == 2
    printed = capsys.readouterr().err
    assert sentence in printed
    assert printed.count("\n") == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(("text", "seeds"), [("3", (0, 1, 2)), ("4,7", (4, 7)), ("0,", None)])
def test_seeds_are_a_number_or_a_list(text, seeds):
    from twofold.cli._reproduce import _seeds

    if seeds is None:
        with pytest.raises(ValueError, match="--seeds"):
            _seeds(text)
    else:
        assert _seeds(text) == seeds


def test_the_help_names_every_method_and_set(monkeypatch, capsys):
    import re

    from twofold.experiments import METHODS, PROTOCOLS, UNSEEN_METHODS, UNSEEN_PROTOCOLS

    unseen_sets = {protocol.data_set for protocol in UNSEEN_PROTOCOLS.values()}
    monkeypatch.setenv("COLUMNS", "200")
    assert _run(monkeypatch, "reproduce", "--help") == 0
    printed = re.sub(r"[^a-z0-9,|-]+", " ", capsys.readouterr().out)
    for name in (*METHODS, *PROTOCOLS, *UNSEEN_METHODS, *unseen_sets):
        assert re.search(rf"(?<![\w-]){name}(?![\w-])", printed), name
