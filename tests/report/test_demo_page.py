"""The demo's record and the page that is made of it."""

import html

import numpy as np
import pytest

from twofold.experiments import RECIPES, PhaseOneDemo, run_demo
from twofold.report import demo_page


@pytest.fixture(scope="module")
def record() -> PhaseOneDemo:
    return run_demo(seed=0)


def test_targets_order_held_out_pairs_of_the_digits(record: PhaseOneDemo) -> None:
    aurocs = {run.recipe.name: run.held_out_auroc for run in record.runs}
    assert aurocs["FML-C"] >= 0.999
    assert aurocs["FML-DP"] >= 0.999
    assert aurocs["FML-DP, random start"] < aurocs["FML-DP"]
    assert aurocs["Whole relation"] is None


def test_held_out_pairs_are_in_no_run_s_own(record: PhaseOneDemo) -> None:
    def pairs(relation) -> set[tuple[int, int]]:
        low = np.minimum(relation.left, relation.right)
        return set(
            zip(low.tolist(), np.maximum(relation.left, relation.right).tolist(), strict=True)
        )

    assert not pairs(record.given) & pairs(record.held_out)
    assert record.given.n_pairs + record.held_out.n_pairs == 20 * 1797


def test_the_page_is_a_pure_function_of_the_record(record: PhaseOneDemo) -> None:
    page = demo_page(record)
    assert page == demo_page(record)
    for run in record.runs:
        assert run.recipe.explanation in html.unescape(page)
        assert f"{run.own_auroc:.4f}" in page
    assert record.machine["numba"] in page


def test_every_epoch_of_every_recipe_is_reported() -> None:
    seen: dict[str, list[int]] = {}
    demo = run_demo(
        seed=1, callback=lambda recipe, epoch, _: seen.setdefault(recipe.name, []).append(epoch)
    )
    assert list(seen) == [recipe.name for recipe in RECIPES if not recipe.whole]
    for run in demo.runs:
        if not run.recipe.whole:
            assert seen[run.recipe.name] == list(range(run.solution.n_epochs + 1))
