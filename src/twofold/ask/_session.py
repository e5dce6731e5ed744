"""A session: what people at the page ask and answer, without anything of HTTP.

Every message that comes in has a method here that returns what goes back; what the worker sends is
taken in whole, and everybody is told.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from twofold.ask._advice import advice
from twofold.ask._doubts import find_doubts
from twofold.ask._items import Items
from twofold.ask._making import TEST_SHARE
from twofold.ask._published import Neighbour, Published
from twofold.ask._questions import Kind, Question
from twofold.ask._snapshot import Inspection
from twofold.ask._standing import StandingAnswers
from twofold.ask._store import AnswerStore, Look
from twofold.ask._tally import Pair, in_order
from twofold.ask._tickets import Tickets, new_secret
from twofold.ask._worker import DrawMap, Drawn, Failed, Inspect, Inspected, Learn, Learnt
from twofold.asking import Quality

Reply = dict[str, Any]
N_AHEAD = 12
"""Questions that a page holds ahead: enough for a fast hand, few enough to follow the model."""
N_KEPT = 2
"""Of them, those that stay when the model changes: the page may be showing them already."""
REPEAT_EVERY, REPEAT_AFTER = 25, 20
"""Looks between questions that a person has answered before, and looks since that answer."""
MOST_HISTORY = 400
"""Estimates that the curve is drawn of."""


@dataclass(eq=False)
class Visitor:
    """A page that somebody has open.

    `held` are the tickets that it was given and has not answered, in their order.
    """

    tell: Callable[[Reply], None]
    who: str = "me"
    kinds: tuple[Kind, ...] = ("pair", "nine")
    held: OrderedDict[str, Question] = field(default_factory=OrderedDict)
    n_given: int = 0
    watches_map: bool = False


class Session:
    """People, their answers and the latest snapshot.

    Parameters
    ----------
    title : str
        Of the project, on the page.
    items : Items
        What is asked about.
    store : AnswerStore
        Where answers are kept.
    learn : callable (Learn)
        Has all answers learnt from.
    request : callable (DrawMap or Inspect)
        Has a map drawn, or an inspection made, of the latest snapshot.
    random_state : int
        Chooses what is asked twice.
    """

    def __init__(
        self,
        title: str,
        items: Items,
        store: AnswerStore,
        learn: Callable[[Learn], None],
        request: Callable[[DrawMap | Inspect], None],
        random_state: int = 0,
    ) -> None:
        self.title = title
        self.items = items
        self._store = store
        self._learn = learn
        self._request = request
        self._rng = np.random.default_rng(random_state)
        self._standing = StandingAnswers(store.looks())
        self._tickets = Tickets(_secret_of(store))
        self._visitors: list[Visitor] = []
        self._pool: list[Question] = []
        self._published: Published | None = None
        self._inspection = Inspection(None, {})
        self._inspected_version = 0
        self._failure: str | None = None
        self._is_learning = self._has_news = False
        self.map_version = 0
        self.map_places: bytes = b""
        self._history: list[tuple[int, Quality]] = [
            (n_looks, Quality(**kept))
            for n_looks, kept in json.loads(store.noted("history") or "[]")
        ]
        self.request_learning()

    # What the worker sends.

    @property
    def n_looks(self) -> int:
        """Looks that stand."""
        return len(self._standing)

    def request_learning(self) -> None:
        """Have everything that stands learnt from, now or after what is being learnt."""
        self._has_news = True
        if not self._is_learning:
            self._is_learning, self._has_news = True, False
            self._learn(Learn(self._standing.answers(), len(self._standing)))

    def take(self, message: Learnt | Inspected | Drawn | Failed) -> None:
        """Take in what the worker sends, and tell everybody."""
        if isinstance(message, Drawn):
            self.map_places = np.load(message.places).astype("<f4").tobytes()
            message.places.unlink(missing_ok=True)
            self.map_version += 1
            self._tell_all({"type": "map", "version": self.map_version})
            return
        if isinstance(message, Inspected):
            self._inspection = message.inspection
            self._tell_all(self.off())
            self._tell_all(self.quality())
            return
        self._is_learning = False
        if isinstance(message, Failed):
            self._failure = message.sentence
        else:
            self._publish(message)
        if self._has_news:
            self.request_learning()
        self._tell_all(self.learning())

    def _publish(self, learnt: Learnt) -> None:
        version = 1 if self._published is None else self._published.version + 1
        if self._published is not None:
            self._published.close()
        self._published = Published(learnt, version, self.items.n_left)
        self._failure = None
        self._pool = list(learnt.questions)
        self._note_history(learnt)
        for visitor in self._visitors:
            visitor.tell(self._renewed(visitor))
            visitor.tell(self.quality())
        if any(visitor.watches_map for visitor in self._visitors):
            self._request(DrawMap())

    def _renewed(self, visitor: Visitor) -> Reply:
        """Take back what a page holds ahead but for the first, and give it newer questions."""
        dropped = list(visitor.held)[N_KEPT:]
        for ticket in dropped:
            del visitor.held[ticket]
        return {**self._given(visitor), "drop": dropped}

    def close(self) -> None:
        """Remove what was only for this session."""
        if self._published is not None:
            self._published.close()

    # Who is there.

    def join(self, tell: Callable[[Reply], None]) -> Visitor:
        """Take in a page; `tell` is called with what it should know."""
        visitor = Visitor(tell)
        self._visitors.append(visitor)
        return visitor

    def leave(self, visitor: Visitor) -> None:
        """Forget a page."""
        self._visitors.remove(visitor)

    def hello(self, visitor: Visitor, who: str) -> Reply:
        """Learn who somebody is, and say what this is."""
        visitor.who = who
        return {
            "type": "welcome",
            "title": self.title,
            "source": self.items.source,
            "n_items": self.items.n_items,
            "n_left": self.items.n_left,
            "who": who,
            "columns": list(self.items.shown),
            "has_images": self.items.image_column is not None,
            "notes": list(self.items.notes),
            "counts": self._standing.counts(who),
            "version": 0 if self._published is None else self._published.version,
        }

    # Questions and answers.

    def more(self, visitor: Visitor, have: Iterable[str], kinds: Sequence[Kind]) -> Reply:
        """Give questions until a page holds enough; `have` are those that it still has."""
        kept = set(have)
        visitor.kinds = tuple(kinds) or ("pair",)
        visitor.watches_map = False
        for ticket, question in list(visitor.held.items()):
            if ticket not in kept or question.kind not in visitor.kinds:
                del visitor.held[ticket]
        return self._given(visitor)

    def answer(
        self, visitor: Visitor, key: str, ticket: str, same: Any, seconds: float | None
    ) -> Reply:
        """Keep an answer to a question; the reply says that it is on disk."""
        asked = self._tickets.read(ticket)
        question = replace(asked, items=tuple(map(self._store.item_of, asked.items)))
        visitor.held.pop(ticket, None)
        return self._keep(visitor, key, question, _said(question, same), seconds)

    def mark(
        self, visitor: Visitor, key: str, pair: tuple[int, int], same: bool, seconds: float | None
    ) -> Reply:
        """Keep what somebody says of a pair that was not asked."""
        self._check_items(pair)
        if pair[0] == pair[1]:
            raise ValueError("An item is the same as itself: mark another.")
        return self._keep(visitor, key, Question("pair", pair, ()), (same,), seconds)

    def undo(self, visitor: Visitor, key: str) -> Reply:
        """Take back the last look of a person, and show its question again."""
        kept = self._store.undo(visitor.who, key)
        reply: Reply = {"type": "undone", "key": key, "question": None, "items": {}}
        if kept is None:
            reply["sentence"] = "There is nothing to take back."
        else:
            self._standing.remove(kept)
            look = kept.look
            question = Question(look.kind, look.items, (), look.purpose, look.weight)
            reply |= self._shown([question], visitor)
            reply["question"], reply["sentence"] = reply.pop("list")[0], None
            self.request_learning()
        reply["counts"] = self._standing.counts(visitor.who)
        return {**reply, "type": "undone"}

    def _keep(
        self,
        visitor: Visitor,
        key: str,
        question: Question,
        same: tuple[bool | None, ...],
        seconds: float | None,
    ) -> Reply:
        pairs = list(_pairs(question))
        is_second = question.purpose != "repeat" and any(map(self._standing.is_answered, pairs))
        look = Look(
            key,
            visitor.who,
            question.kind,
            question.items,
            same,
            question.purpose,
            question.weight,
            seconds,
        )
        kept = self._store.add(look)
        if kept is not None:
            self._standing.add(kept)
            self.request_learning()
            self._tell_others(visitor, pairs)
        return {
            "type": "saved",
            "key": key,
            "counts": self._standing.counts(visitor.who),
            "second_opinion": is_second and kept is not None,
        }

    def _tell_others(self, visitor: Visitor, pairs: Sequence[Pair]) -> None:
        """Take questions back from other pages that were answered here."""
        for other in self._visitors:
            if other is visitor:
                continue
            answered = [
                ticket
                for ticket, question in other.held.items()
                if not set(pairs).isdisjoint(_pairs(question))
            ]
            other.tell({"type": "questions", "list": [], "items": {}, "drop": answered[N_KEPT:]})
            other.tell(
                {"type": "counts", "counts": self._standing.counts(other.who)},
            )

    # What else can be looked at.

    def learning(self) -> Reply:
        """Return how far learning is."""
        learnt = None if self._published is None else self._published.learnt
        n_learnt = 0 if learnt is None else learnt.n_looks
        return {
            "type": "learning",
            "state": "failed" if self._failure else "learning" if self._is_learning else "waiting",
            "n_learnt": n_learnt,
            "n_answers": len(self._standing),
            "sentence": self._failure,
            "version": 0 if self._published is None else self._published.version,
        }

    def neighbours(self, item: int, k: int) -> Reply:
        """Return the nearest items of one."""
        self._check_items([item])
        near = self._now().neighbours(item, k)
        return self._neighbours(item, near)

    def neighbours_of_row(self, features: Any, k: int) -> Reply:
        """Return the items that are nearest to a new row of features."""
        near = self._now().neighbours_of_row(features, self.items.features, k)
        return self._neighbours(None, near)

    def find(self, text: str, k: int) -> Reply:
        """Return items that hold the words of a text."""
        items = self.items.find(text, k)
        return {"type": "found", "text": text, "list": items, "items": self.describe(items)}

    def off(self) -> Reply:
        """Return answers that should be looked at again."""
        doubts = find_doubts(self._standing, self._inspection.suspicion, self.items.n_items)
        items = {item for one in doubts for item in one.chain}
        return {
            "type": "off",
            "list": [asdict(one) for one in doubts],
            "items": self.describe(items),
        }

    def quality(self) -> Reply:
        """Return how good the metric is on pairs that were held out, and whether to go on."""
        learnt = None if self._published is None else self._published.learnt
        features = self._inspection.features
        n_asked, n_agreed = self._standing.agreement()
        return {
            "type": "quality",
            "now": None if learnt is None or learnt.quality is None else asdict(learnt.quality),
            "features": None if features is None else features.auroc,
            "history": [
                {"answers": n, "auroc": one.auroc, "low": one.low, "high": one.high}
                for n, one in self._history
            ],
            "advice": asdict(advice(self._history)),
            "test_share": TEST_SHARE,
            "agreement": {"n": n_asked, "n_agree": n_agreed},
        }

    def request_inspection(self) -> None:
        """Have suspects and the quality of the features worked out, unless they are known."""
        version = 0 if self._published is None else self._published.version
        if version > self._inspected_version:
            self._inspected_version = version
            self._request(Inspect())

    def watch_map(self, visitor: Visitor) -> list[Reply]:
        """Have the map drawn, now and after every snapshot, until a page asks for questions."""
        visitor.watches_map = True
        if self._published is not None:
            self._request(DrawMap())
        return [{"type": "map", "version": self.map_version}] if self.map_version else []

    def describe(self, items: Iterable[int]) -> dict[str, Any]:
        """Return what the page shows of items, by their numbers."""
        return {str(item): self.items.describe(item) for item in items}

    def _now(self) -> Published:
        if self._published is None:
            raise ValueError("The items are still being read: try again in a moment.")
        return self._published

    def _neighbours(self, item: int | None, near: list[Neighbour]) -> Reply:
        listed = [
            {
                "item": one,
                "similarity": similarity,
                "said": None if item is None else self._standing.verdict(in_order(item, one)),
            }
            for one, similarity in near
        ]
        shown = {one for one, _ in near} | ({item} if item is not None else set())
        return {
            "type": "neighbours",
            "item": item,
            "version": self._now().version,
            "list": listed,
            "items": self.describe(shown),
        }

    def _check_items(self, items: Iterable[int]) -> None:
        for item in items:
            if not 0 <= item < self.items.n_items:
                raise ValueError(
                    f"There is no item {item}: they are 0 to {self.items.n_items - 1}."
                )

    def _given(self, visitor: Visitor) -> Reply:
        """Give a page questions that nobody else holds and nobody has answered."""
        new: list[Question] = []
        others = {
            pair
            for other in self._visitors
            if other is not visitor
            for question in other.held.values()
            for pair in _pairs(question)
        }
        own = {pair for question in visitor.held.values() for pair in _pairs(question)}
        for question in self._candidates(visitor):
            if len(visitor.held) + len(new) >= N_AHEAD:
                break
            pairs = set(_pairs(question))
            is_free = pairs.isdisjoint(others) and pairs.isdisjoint(own)
            if question.kind in visitor.kinds and is_free and self._is_open(question):
                new.append(question)
                own |= pairs
        return {"type": "questions", **self._shown(new, visitor), "drop": []}

    def _candidates(self, visitor: Visitor) -> Iterator[Question]:
        """Yield questions in the order to be asked, now and then one that was answered before."""
        for question in self._pool:
            visitor.n_given += 1
            if visitor.n_given % REPEAT_EVERY == 0:
                old = self._standing.to_repeat(visitor.who, REPEAT_AFTER)
                if old:
                    kept = old[int(self._rng.integers(len(old)))]
                    yield Question("pair", kept.look.items, (), "repeat")
            yield question

    def _is_open(self, question: Question) -> bool:
        """Whether something is left to ask of a question."""
        if question.purpose == "repeat":
            return True
        return not any(map(self._standing.is_answered, _pairs(question)))

    def _shown(self, questions: Sequence[Question], visitor: Visitor) -> Reply:
        """Return questions as the page gets them, and note that it holds them."""
        listed = []
        for question in questions:
            numbers = tuple(map(self._store.number_of, question.items))
            ticket = self._tickets.issue(replace(question, items=numbers))
            visitor.held[ticket] = question
            listed.append(
                {
                    "id": ticket,
                    "kind": question.kind,
                    "items": list(question.items),
                    "guess": [round(one, 3) for one in question.probability],
                }
            )
        items = {item for question in questions for item in question.items}
        return {"list": listed, "items": self.describe(items)}

    def _note_history(self, learnt: Learnt) -> None:
        """Remember how good the metric was after how many answers."""
        quality = learnt.quality
        if quality is None:
            return
        before = [(n_looks, one) for n_looks, one in self._history if n_looks < learnt.n_looks]
        self._history = [*before, (learnt.n_looks, quality)]
        if len(self._history) > MOST_HISTORY:
            self._history = self._history[::2]
        plain = [(n_looks, asdict(one)) for n_looks, one in self._history]
        self._store.note("history", json.dumps(plain))

    def _tell_all(self, reply: Reply) -> None:
        for visitor in self._visitors:
            visitor.tell(reply)


def _pairs(question: Question) -> Iterator[Pair]:
    first, *others = question.items
    for other in others:
        yield in_order(first, other)


def _said(question: Question, same: Any) -> tuple[bool | None, ...]:
    """Return what an answer says of each pair of a question."""
    others = question.items[1:]
    if same is None:
        return (None,) * len(others)
    if question.kind == "pair":
        if not isinstance(same, bool):
            raise ValueError("An answer about a pair is true, false or null.")
        return (same,)
    if not isinstance(same, list) or not set(same) <= set(others):
        raise ValueError("An answer about nine lists those of them that are the same.")
    return tuple(other in same for other in others)


def _secret_of(store: AnswerStore) -> str:
    secret = store.noted("secret")
    if secret is None:
        secret = new_secret()
        store.note("secret", secret)
    return secret
