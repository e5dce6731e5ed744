"""Questions and answers over the websocket, as a page has them, and what outlives a restart."""

from __future__ import annotations

import csv
import os
import signal
import sqlite3

from running import Running, is_same, write_pictures
from typer.testing import CliRunner

import twofold
from twofold.cli import app
from twofold.tasks import PreparedModel


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_an_evening_goes_on_after_a_kill_and_ends_in_a_model(tmp_path):
    """Answer, lose power, go on, take back, search, look at every view, and get the model."""
    pictures = write_pictures(tmp_path / "pictures")
    running = Running(pictures)
    with running.page() as page:
        assert page.welcome["n_items"] == 24
        assert page.welcome["counts"]["looks"] == 0
        for number in range(6):
            first, second, *_ = page.questions("pair")
            assert page.answer(first, key=f"k{number}")["counts"]["looks"] == number + 1
    running.kill()

    again = Running(pictures)
    assert "6 answered before" in "".join(again.said)
    with again.page() as page:
        assert page.welcome["counts"]["looks"] == 6
        # What was sent before is known by its key; what was on its way counts now.
        assert page.answer(first, key="k5")["counts"]["looks"] == 6
        assert page.answer(second, key="on its way")["counts"]["looks"] == 7
        page.wait("learning", where=lambda one: one["n_learnt"] == 7)
        os.kill(again.worker_pid(), signal.SIGKILL)
        third = page.questions("pair")[0]
        assert page.answer(third)["counts"]["looks"] == 8
        page.wait("learning", where=lambda one: one["n_learnt"] == 8)
        page.say("undo", key="u1")
        undone = page.wait("undone")
        assert undone["question"]["items"] == third["items"]
        page.say("undo", key="u2")  # back through the kill
        assert page.wait("undone")["counts"]["looks"] == 6
        page.say("neighbours", item=0, k=5)
        near = page.wait("neighbours")
        assert len(near["list"]) == 5
        assert 0 not in [one["item"] for one in near["list"]]
        assert near["items"]["0"]["name"] == "00.png"
        page.say("mark", key="m1", left=0, right=3, same=True)
        assert page.wait("saved")["counts"]["looks"] == 7
        page.say("mark", key="m2", left=0, right=4, same=False)
        page.wait("learning", where=lambda one: one["n_learnt"] == 8)
        page.say("find", text="07", k=5)
        assert page.wait("found")["list"] == [7]
        page.say("quality")
        assert page.wait("quality")["test_share"] == 0.2
        page.say("map")
        version = page.wait("map")["version"]
    status, headers, places = again.request("/map")
    assert (status, headers["x-version"], len(places)) == (200, str(version), 24 * 2 * 4)
    assert again.stop() == (0, "")

    project = tmp_path / "pictures.ask"
    assert not (project / "scratch").exists()
    assert PreparedModel.open(project / "model").source == "images"
    assert twofold.load(project / "model").transform(_pixels(pictures)).shape[0] == 24


def _pixels(pictures):
    from twofold.preparation import ImagePreparation

    return ImagePreparation(cache=False).fit_transform(sorted(pictures.iterdir()))


def test_two_people_are_asked_different_things_and_may_both_answer(server):
    with server.page("Anna") as anna, server.page("Ben") as ben:
        hers, his = anna.questions("pair"), ben.questions("pair")
        assert not {frozenset(one["items"]) for one in hers} & {
            frozenset(one["items"]) for one in his
        }
        before = anna.answer(hers[0])
        assert not before["second_opinion"]
        after = ben.answer(hers[0], same=not is_same(*hers[0]["items"]))
        assert after["second_opinion"]
        assert after["counts"]["answers"] == before["counts"]["answers"] + 1
        anna.say("off")
        (both, *_) = anna.wait("off", where=lambda one: one["list"])["list"]
        assert both["why"] == "both ways"
        assert sorted([both["left"], both["right"]]) == sorted(hers[0]["items"])


def test_a_nine_is_nine_statements_at_one_look(server):
    with server.page("Nina") as page:
        page.answer(page.questions("pair")[0])
        looks, answers = (page.welcome["counts"][name] for name in ("looks", "answers"))
        nine = page.questions("nine")[0]
        saved = page.answer(nine)["counts"]
        assert len(nine["items"]) == 10
        assert (saved["looks"], saved["answers"]) == (looks + 2, answers + 10)


def test_nothing_is_asked_again_and_everything_is_exported(server, tmp_path):
    said = {}
    with server.page("Olga") as page:
        for number in range(6):
            question = page.questions("pair")[0]
            pair = frozenset(question["items"])
            assert pair not in said
            said[pair] = is_same(*question["items"])
            page.answer(question, key=f"olga {number}")
        unsure = page.questions("pair")[0]
        page.answer(unsure, same=None)
    project, file = server.project, tmp_path / "pairs.csv"
    exported = run("ask", server.data, "--export", file)
    assert exported.exit_code == 0, exported.output
    with file.open() as rows:
        pairs = {
            frozenset(int(row[side][:2]) for side in ("left", "right")): row["similar"] == "1"
            for row in csv.DictReader(rows)
        }
    assert said.items() <= pairs.items()
    assert frozenset(unsure["items"]) not in pairs
    base = sqlite3.connect(project / "answers.sqlite")
    told = base.execute(
        "SELECT who, seconds, kind, answered > '2026' FROM looks WHERE key = 'olga 0'"
    ).fetchone()
    base.close()
    assert told == ("Olga", 1.5, "pair", 1)
