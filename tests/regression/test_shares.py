"""A batch in parts, and draws that come out as for the whole."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from twofold.regression._augment import AUGMENTS, Augment, Augmenter
from twofold.regression._draws import Dropout
from twofold.regression._shares import SharedGenerator, batch_of, drawn_rows, share_of

N_BATCH = 11


@given(n_batch=st.integers(1, 50), n_processes=st.integers(1, 12))
def test_every_example_counts_in_one_process(n_batch, n_processes):
    batch = torch.randperm(n_batch, generator=torch.Generator().manual_seed(0))
    shares = [share_of(batch, rank, n_processes) for rank in range(n_processes)]
    counted = torch.cat([share.examples[: share.n_counted] for share in shares])
    assert counted.tolist() == batch.tolist()
    sizes = [share.n_counted for share in shares]
    assert max(sizes) - min(sizes) <= 1
    assert min(len(share.examples) for share in shares) >= 1


@given(n_batch=st.integers(1, 50), n_processes=st.integers(1, 12))
def test_the_weighted_mean_over_processes_is_the_mean_of_the_batch(n_batch, n_processes):
    losses = torch.rand(n_batch, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    shares = [share_of(torch.arange(n_batch), rank, n_processes) for rank in range(n_processes)]
    parts = [share.weight(n_processes) * losses[share.examples].mean() for share in shares]
    torch.testing.assert_close(torch.stack(parts).mean(), losses.mean())


def whole_and_parts(draw, n_processes=3):
    """Return what one process draws for a batch, and what three draw for their shares."""
    whole = draw(torch.Generator().manual_seed(0), torch.arange(N_BATCH))
    parts = []
    for rank in range(n_processes):
        generator = SharedGenerator()
        generator.manual_seed(0)
        generator.share = share_of(torch.arange(N_BATCH), rank, n_processes)
        parts.append(draw(generator, generator.share.examples))
    return whole, parts


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_shares_of_a_draw_are_the_draw_of_the_batch(dim):
    def draw(generator, rows):
        def rand(n):
            shape = [2, 3, 4]
            shape[dim] = n
            return torch.rand(shape, generator=generator)

        return drawn_rows(rand, len(rows), generator, dim)

    whole, parts = whole_and_parts(draw)
    assert torch.equal(torch.cat(parts, dim), whole)


def test_both_sides_of_pairs_draw_as_in_one_process():
    def draw(generator, rows):
        return drawn_rows(lambda n: torch.rand(n, 2, generator=generator), 2 * len(rows), generator)

    whole, parts = whole_and_parts(draw)
    left, right = whole.chunk(2)
    assert torch.equal(torch.cat([part.chunk(2)[0] for part in parts]), left)
    assert torch.equal(torch.cat([part.chunk(2)[1] for part in parts]), right)


def test_dropout_drops_what_it_drops_in_one_process():
    values = torch.rand(N_BATCH, 7, generator=torch.Generator().manual_seed(2))

    def draw(generator, rows):
        layer = Dropout(0.4)
        layer.generator = generator
        return layer(values[rows])

    whole, parts = whole_and_parts(draw)
    assert torch.equal(torch.cat(parts), whole)
    assert (whole == 0).any()


@pytest.mark.parametrize(
    "augment", [*AUGMENTS.values(), Augment(cutout=3), Augment(flips=True, rotation=5, cutout=2)]
)
def test_images_are_changed_as_in_one_process(augment):
    images = torch.rand(N_BATCH, 2, 9, 8, generator=torch.Generator().manual_seed(3))

    def draw(generator, rows):
        return Augmenter(augment, images.device)(images[rows], rows, generator)

    whole, parts = whole_and_parts(draw)
    torch.testing.assert_close(torch.cat(parts), whole)
    assert not torch.equal(whole, images)


def test_a_plain_generator_has_no_batch_beyond_its_own():
    assert batch_of(None) is None
    assert batch_of(torch.Generator()) is None
    generator = SharedGenerator()
    generator.share = share_of(torch.arange(4), 1, 2)
    assert batch_of(generator).tolist() == [0, 1, 2, 3]
