"""A session: what people at the page ask and answer, without anything of HTTP.

Every message that comes in has a method here that returns what goes back; what the worker sends is
taken in whole, and everybody is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from twofold.ask._doubts import find_doubts
from twofold.ask._handing_out import N_KEPT, QuestionDesk, Visitor, pairs_of_question
from twofold.ask._history import QualityHistory
from twofold.ask._items import Items
from twofold.ask._latest import LatestModel
from twofold.ask._making import TEST_SHARE
from twofold.ask._published import Neighbour, Published
from twofold.ask._questions import Kind, Question
from twofold.ask._standing import StandingAnswers
from twofold.ask._store import AnswerStore, Look
from twofold.ask._tally import Pair, in_order
from twofold.ask._tickets import Tickets, new_secret
from twofold.ask._worker import DrawMap, Drawn, Failed, Inspect, Inspected, Learn, Learnt

Reply = dict[str, Any]


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
        self._standing = StandingAnswers(store.looks())
        self._desk = QuestionDesk(self._standing, np.random.default_rng(random_state))
        self._tickets = Tickets(_secret_of(store))
        self._history = QualityHistory(store)
        self._visitors: list[Visitor] = []
        self.model = LatestModel(
            learn,
            request,
            lambda: (self._standing.answers(), len(self._standing)),
            items.n_left,
        )
        self.model.request_learning()

    # What the worker sends.

    @property
    def n_looks(self) -> int:
        """Looks that stand."""
        return len(self._standing)

    def take(self, message: Learnt | Inspected | Drawn | Failed) -> None:
        """Take in what the worker sends, and tell everybody."""
        self.model.take(message)
        if isinstance(message, Drawn):
            self._tell_all({"type": "map", "version": self.model.map_version})
        elif isinstance(message, Inspected):
            self._tell_all(self.off())
            self._tell_all(self.quality())
        else:
            if isinstance(message, Learnt):
                self._publish(message)
            self._tell_all(self.learning())

    def _publish(self, learnt: Learnt) -> None:
        self._desk.restock(learnt.questions)
        if learnt.quality is not None:
            self._history.note(learnt.n_looks, learnt.quality)
        for visitor in self._visitors:
            visitor.tell(self._renewed(visitor))
        self._tell_all(self.quality())
        if any(visitor.watches_map for visitor in self._visitors):
            self.model.request_map()

    def _renewed(self, visitor: Visitor) -> Reply:
        """Take back what a page holds ahead but for the first, and give it newer questions."""
        dropped = list(visitor.held)[N_KEPT:]
        for ticket in dropped:
            del visitor.held[ticket]
        return {**self._given(visitor), "drop": dropped}

    def close(self) -> None:
        """Remove what was only for this session."""
        self.model.close()

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
            "version": self.model.version,
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
            raise ValueError("An item is always the same as itself: mark another one.")
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
            self.model.request_learning()
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
        pairs = list(pairs_of_question(question))
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
            self.model.request_learning()
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
                if not set(pairs).isdisjoint(pairs_of_question(question))
            ]
            other.tell({"type": "questions", "list": [], "items": {}, "drop": answered[N_KEPT:]})
            other.tell(
                {"type": "counts", "counts": self._standing.counts(other.who)},
            )

    # What else can be looked at.

    def learning(self) -> Reply:
        """Return how far learning is."""
        model = self.model
        return {
            "type": "learning",
            "state": "failed" if model.failure else "learning" if model.is_learning else "waiting",
            "n_learnt": 0 if model.published is None else model.published.learnt.n_looks,
            "n_answers": len(self._standing),
            "sentence": model.failure,
            "version": model.version,
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
        doubts = find_doubts(self._standing, self.model.review.suspicion, self.items.n_items)
        items = {item for one in doubts for item in one.chain}
        return {
            "type": "off",
            "list": [asdict(one) for one in doubts],
            "items": self.describe(items),
        }

    def quality(self) -> Reply:
        """Return how good the metric is on pairs that were held out, and whether to go on."""
        published, features = self.model.published, self.model.review.features
        now = None if published is None else published.learnt.quality
        again = self._standing.agreement()
        return {
            "type": "quality",
            "now": None if now is None else asdict(now),
            "features": None if features is None else features.auroc,
            "history": self._history.plain(),
            "advice": asdict(self._history.advice()),
            "test_share": TEST_SHARE,
            "agreement": {"n": again.n, "n_agree": again.n_agreed},
        }

    def watch_map(self, visitor: Visitor) -> list[Reply]:
        """Have the map drawn, now and after every snapshot, until a page asks for questions."""
        visitor.watches_map = True
        self.model.request_map()
        version = self.model.map_version
        return [{"type": "map", "version": version}] if version else []

    def describe(self, items: Iterable[int]) -> dict[str, Any]:
        """Return what the page shows of items, by their numbers."""
        return {str(item): self.items.describe(item) for item in items}

    def _now(self) -> Published:
        if self.model.published is None:
            raise ValueError("The items are still being read: try again in a moment.")
        return self.model.published

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
        """Give a page questions, until it holds enough."""
        others = [other for other in self._visitors if other is not visitor]
        drawn = self._desk.draw(visitor, others)
        return {"type": "questions", **self._shown(drawn, visitor), "drop": []}

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

    def _tell_all(self, reply: Reply) -> None:
        for visitor in self._visitors:
            visitor.tell(reply)


def _said(question: Question, same: Any) -> tuple[bool | None, ...]:
    """Return what an answer says of each pair of a question."""
    others = question.items[1:]
    if same is None:
        return (None,) * len(others)
    if question.kind == "pair":
        if not isinstance(same, bool):
            raise ValueError("The answer about a pair must be true, false or null.")
        return (same,)
    if not isinstance(same, list) or not set(same) <= set(others):
        raise ValueError(
            "The answer to one against nine must be a list of those that are the same."
        )
    return tuple(other in same for other in others)


def _secret_of(store: AnswerStore) -> str:
    secret = store.noted("secret")
    if secret is None:
        secret = new_secret()
        store.note("secret", secret)
    return secret
