"""The definitions of the neighbour scores, as slow loops over plain Python numbers."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product
from math import fsum, sqrt


def nearness(a, b, metric):
    """Return a number that is small for the near."""
    dot = fsum(x * y for x, y in zip(a, b, strict=True))
    if metric == "dot":
        return -dot
    if metric == "cosine":
        lengths = sqrt(fsum(x * x for x in a)) * sqrt(fsum(y * y for y in b))
        return 1 - (dot / lengths if lengths else 0.0)
    return fsum((x - y) ** 2 for x, y in zip(a, b, strict=True))


def ranking(query, gallery, metric, without=None):
    """Return the gallery's indices, nearest first, ties by lowest index."""
    others = [index for index in range(len(gallery)) if index != without]
    return sorted(others, key=lambda index: (nearness(query, gallery[index], metric), index))


def accuracy(train, classes, test, true, k, metric):
    n_right = 0
    for query, wanted in zip(test, true, strict=True):
        votes = Counter(classes[index] for index in ranking(query, train, metric)[:k])
        most = max(votes.values())
        n_right += min(name for name, count in votes.items() if count == most) == wanted
    return n_right / len(test)


def jaccard(train, labels, test, true, k, metric):
    total = 0.0
    for query, wanted_row in zip(test, true, strict=True):
        votes = Counter()
        for index in ranking(query, train, metric)[:k]:
            votes.update(label for label, has in enumerate(labels[index]) if has)
        predicted = {label for label, count in votes.items() if 2 * count > k}
        wanted = {label for label, has in enumerate(wanted_row) if has}
        union = predicted | wanted
        total += len(predicted & wanted) / len(union) if union else 1.0
    return total / len(test)


def retrieval(points, gallery, is_relevant, metric, depths=(1, 2, 4, 8)):
    """Return (recall at each depth, R-precision, MAP@R, n_queries, n_without_match).

    `is_relevant(query, item)` takes indices; with `gallery` None a point is not its own gallery.
    """
    rows = []
    for query, point in enumerate(points):
        if gallery is None:
            order = ranking(point, points, metric, without=query)
        else:
            order = ranking(point, gallery, metric)
        hits = [bool(is_relevant(query, item)) for item in order]
        n_relevant = sum(hits)
        if not n_relevant:
            continue
        precisions = [
            sum(hits[: rank + 1]) / (rank + 1) if hits[rank] else 0.0 for rank in range(n_relevant)
        ]
        recalls = [float(any(hits[:depth])) for depth in depths]
        rows.append([*recalls, sum(hits[:n_relevant]) / n_relevant, sum(precisions) / n_relevant])
    means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    return (*means, len(rows), len(points) - len(rows))


def one_shot(points, classes, n_way, metric):
    """Return the mean over classes, queries and examples of every episode there is."""
    members = {name: [i for i, own in enumerate(classes) if own == name] for name in set(classes)}
    of_class = []
    for own, items in members.items():
        shares = []
        for query, example in product(items, items):
            if query == example:
                continue
            for others in combinations(sorted(members.keys() - {own}), n_way - 1):
                right = []
                for distractors in product(*(members[name] for name in others)):
                    support = [example, *distractors]
                    far = [nearness(points[query], points[item], metric) for item in support]
                    right.append((far[0] == min(far)) / far.count(min(far)))
                shares.append(sum(right) / len(right))
        if shares:
            of_class.append(sum(shares) / len(shares))
    return sum(of_class) / len(of_class)
