"""Statistics of run records, against calculations by hand."""

import math

import pytest
from stored_records import MNIST, SCENE, YEAST, record, several, stored_records

from twofold.report import _wording as wording
from twofold.report._arrivals import Arrival, arrivals, siamese_finish
from twofold.report._standings import standings
from twofold.report._summaries import Estimate, RunGroup, estimate, summarise


def group(records: list) -> RunGroup:
    (only,) = summarise(records)
    return only


def arrival(records: list, method: str) -> Arrival:
    return next(a for a in arrivals(group(records)) if a.method == method)


def test_an_interval_is_that_of_the_t_distribution() -> None:
    # Mean 0.3, deviation 0.1, t(0.975, 2) = 4.302653, over √3.
    value = estimate([0.2, 0.3, 0.4])
    assert value.n == 3
    assert value.mean == pytest.approx(0.3)
    assert value.deviation == pytest.approx(0.1)
    assert value.half_width == pytest.approx(4.302653 * 0.1 / math.sqrt(3), rel=1e-6)


def test_one_value_has_no_spread() -> None:
    assert estimate([0.5]) == Estimate(1, 0.5, None, None)


def test_phase_1_is_timed_over_all_seeds_and_compared_with_the_paper() -> None:
    runs = [record("mnist", "fml-c", seed, timed=(0.2 + seed, 0.4 + seed)) for seed in (0, 1)]
    summary = group(runs).methods[0]
    assert summary.targets_seconds is not None
    assert summary.targets_seconds.n == 4
    assert summary.targets_seconds.mean == pytest.approx(0.8)
    assert summary.speed_up == pytest.approx(6.90 / 0.8)


def test_twofold_s_phase_1_has_no_counterpart_in_the_paper() -> None:
    summary = group([record("mnist", "twofold")]).methods[0]
    assert summary.targets_seconds is not None
    assert summary.speed_up is None


def test_scores_are_means_over_seeds() -> None:
    summary = group(several("mnist", {"fml-c": MNIST["fml-c"]})).methods[0]
    assert summary.auroc is not None
    assert summary.neighbours is not None
    assert summary.auroc.mean == pytest.approx(0.999)
    assert summary.neighbours.mean == pytest.approx(0.981)
    assert summary.neighbours.deviation == pytest.approx(0.001)
    assert summary.seconds.mean == pytest.approx(300.0)
    assert summary.epochs == (60, 59, 58)
    assert summary.seeds == (0, 1, 2)


@pytest.mark.parametrize(
    ("score", "difference"), [(0.981, 0.005), (0.970, -0.006), (0.9763, 0.0), (0.9757, 0.0)]
)
def test_a_difference_from_the_paper_has_its_three_decimals(
    score: float, difference: float
) -> None:
    comparison = group([record("mnist", "fml-c", neighbours=score)]).methods[0].comparison
    assert comparison is not None
    assert comparison.paper == 0.976
    assert comparison.difference == difference
    assert math.copysign(1, comparison.difference) == (-1 if difference < 0 else 1)


def test_a_curve_is_the_mean_at_common_epochs_with_a_band_over_seeds() -> None:
    runs = several("mnist", {"fml-c": MNIST["fml-c"]})
    runs[2] = record("mnist", "fml-c", 2, seconds=(7.0, 70.0), auroc=(0.9, 0.95))
    curve = group(runs).methods[0].curve
    assert curve is not None
    assert curve.epochs == (1, 10)
    assert curve.seconds == pytest.approx(((5 + 5 + 7) / 3, (50 + 50 + 70) / 3))
    assert curve.auroc[0] == pytest.approx((0.98 + 0.981 + 0.902) / 3)
    assert curve.lowest == pytest.approx((0.902, 0.952))
    assert curve.highest == pytest.approx((0.981, 0.997))


def test_a_group_is_a_set_on_a_machine_and_versions_are_no_part_of_it() -> None:
    cpu = record("mnist", "fml-c", device="cpu")
    newer = record("mnist", "fml-c", 1, machine=dict(record("mnist", "fml-c").machine, torch="3"))
    groups = summarise([record("mnist", "fml-c", device="cuda:0"), newer, cpu])
    assert [(g.data_set, g.machine.short) for g in groups] == [
        ("mnist", "Xeon, 2 cores (CPU)"),
        ("mnist", "NVIDIA H200 (CUDA)"),
    ]
    assert groups[1].methods[0].seeds == (0, 1)


def test_sets_and_methods_stand_in_the_order_of_the_protocols_whatever_the_records_order() -> None:
    records = stored_records()
    groups = summarise(reversed(records))
    assert groups == summarise(records)
    assert [g.data_set for g in groups] == [
        "mnist", "mnist", "pubfig83", "nuswide", "scene", "yeast",
    ]  # fmt: skip
    assert [s.method for s in groups[1].methods] == ["fml-c", "fml-dp", "twofold", "siamese"]


def test_a_run_that_stands_twice_is_refused() -> None:
    with pytest.raises(ValueError, match=r"fml-c on mnist with seed 0 occurs twice .* NVIDIA H200"):
        summarise([record("mnist", "fml-c"), record("mnist", "fml-c", neighbours=0.9)])


def test_seeds_that_were_run_by_different_protocols_are_refused() -> None:
    shorter = record("mnist", "fml-c", 1, configuration={"protocol": {"n_epochs": 3}})
    with pytest.raises(ValueError, match="with other settings for seed 1 than for seed 0"):
        summarise([record("mnist", "fml-c"), shorter])


def test_time_to_the_siamese_network_s_final_auroc() -> None:
    # Of seed 0 the Siamese network ends at 0.995 after 600 s; FML-C is at 0.996 after 50 s.
    records = several("mnist", MNIST)
    finish = siamese_finish(group(records))
    assert finish is not None
    assert finish.auroc == pytest.approx(0.996)
    assert (finish.seconds, finish.arrival) == (600.0, 600.0)
    found = arrival(records, "fml-c")
    assert found.seconds == 50.0
    assert found.of_whole == pytest.approx(1 / 12)
    assert found.of_arrival == pytest.approx(1 / 12)
    assert found.of_whole_by_seed == pytest.approx(1 / 12)
    assert (found.n_reached, found.n_seeds) == (3, 3)


def test_a_siamese_network_that_fell_back_arrived_earlier_than_it_ended() -> None:
    falling = record("mnist", "siamese", seconds=(10.0, 100.0, 600.0), auroc=(0.9, 0.996, 0.995))
    found = arrival([record("mnist", "fml-c"), falling], "fml-c")
    assert found.of_whole == pytest.approx(50 / 600)
    assert found.of_arrival == pytest.approx(50 / 100)


def test_a_method_that_stays_below_does_not_reach_it() -> None:
    found = arrival(several("mnist", MNIST), "fml-dp")
    assert found.seconds is found.of_whole is found.of_arrival is found.of_whole_by_seed is None
    assert found.best == pytest.approx(0.995)
    assert (found.n_reached, found.n_seeds) == (0, 3)


def test_seeds_are_compared_with_the_siamese_network_of_the_same_seed() -> None:
    records = [
        record("mnist", "siamese", 0, seconds=(10.0, 100.0), auroc=(0.8, 0.9)),
        record("mnist", "siamese", 1, seconds=(10.0, 400.0), auroc=(0.8, 0.9)),
        record("mnist", "fml-c", 0, seconds=(10.0, 50.0), auroc=(0.95, 0.96)),
        record("mnist", "fml-c", 1, seconds=(10.0, 100.0), auroc=(0.7, 0.96)),
        record("mnist", "fml-c", 2, seconds=(10.0, 100.0), auroc=(0.1, 0.1)),
    ]
    found = arrival(records, "fml-c")
    # Shares 10/100 and 100/400.
    assert found.of_whole_by_seed == pytest.approx(math.sqrt(0.1 * 0.25))
    assert (found.n_reached, found.n_seeds) == (2, 2)


def test_without_a_siamese_network_nothing_arrives() -> None:
    only = group([record("mnist", "fml-c")])
    assert siamese_finish(only) is None
    assert arrivals(only) == ()


def test_twofold_is_compared_with_the_best_of_all_methods_but_its_own() -> None:
    records = [
        *several("yeast", YEAST, score="jaccard"),
        *several("scene", SCENE, score="jaccard"),
        record("yeast", "one-hot", score="jaccard", neighbours=0.6),
        record("yeast", "twofold-squared", score="jaccard", neighbours=0.99),
    ]
    scene, yeast = standings(summarise(records), "neighbours")
    assert (scene.rival, scene.lead) == ("fml-c", -0.011)
    assert (yeast.rival, yeast.lead) == ("one-hot", -0.045)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (wording.share(0.04), "1/25"),
        (wording.share(0.3), "1/3.3"),
        (wording.share(0.1001), "1/10"),
        (wording.share(0.92), "0.92"),
        (wording.share(1.3), "1.30"),
        (wording.share(0.0), "0.00"),
        (wording.speed_up(27.3), "27× faster"),
        (wording.speed_up(0.5), "2.0× slower"),
        (wording.seconds(0.2994), "0.299"),
        (wording.seconds(1234.5), "1,234"),
        (wording.seconds(0.0002), "< 0.001"),
        (wording.seconds(0.0), "0"),
        (wording.signed(-0.011, 3), "−0.011"),
        (wording.ranges([4, 0, 1, 2]), "0–2, 4"),
        (wording.listing(["a"]), "a"),
        (wording.listing(["a", "b", "c"]), "a, b and c"),
        (wording.counted([58000, 58000, 7]), "7/58,000"),
    ],
)
def test_numbers_read_well(words: str, expected: str) -> None:
    assert words == expected
