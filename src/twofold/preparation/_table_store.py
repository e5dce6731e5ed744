"""A fitted TablePreparation on disk: a description for JSON, and one file of arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from twofold._core.files import new_file
from twofold.preparation._blocks import Block, restore_block
from twofold.preparation._plan import KINDS, ColumnPlan
from twofold.preparation._stored import Arrays, Stored, read_arrays, write_arrays

ARRAYS = "table_preparation.safetensors"
VERSION = 1


def save_blocks(
    folder: Path,
    blocks: Sequence[Block],
    plans: Sequence[ColumnPlan],
    parameters: Mapping[str, Any],
) -> dict[str, Any]:
    """Write the arrays of all blocks; return what they mean."""
    saved = [block.save() for block in blocks]
    arrays: Arrays = {
        f"{number}.{name}": array
        for number, (_, own) in enumerate(saved)
        for name, array in own.items()
    }
    with new_file(folder / ARRAYS) as file:
        write_arrays(file, arrays)
    text_model = parameters["text_model"]
    return {
        "preparation": "table",
        "version": VERSION,
        "kinds": None if parameters["kinds"] is None else dict(parameters["kinds"]),
        "columns": None if parameters["columns"] is None else list(parameters["columns"]),
        "text": parameters["text"],
        "text_model": None if text_model is None else str(text_model),
        "plans": [
            {
                "name": plan.name,
                "kind": plan.kind,
                "n_missing": plan.n_missing,
                "n_features": plan.n_features,
                "note": plan.note,
            }
            for plan in plans
        ],
        "blocks": [facts for facts, _ in saved],
    }


def restore_blocks(
    description: Mapping[str, Any], folder: Path
) -> tuple[list[Block], tuple[ColumnPlan, ...], dict[str, Any]]:
    """Return blocks, plans and parameters that were saved, all of them checked."""
    name = f"The preparation in {folder}"
    if not isinstance(description, Mapping):
        raise ValueError(f"{name} is damaged: its description is not a mapping.")
    whole = Stored(name, description, read_arrays(folder / ARRAYS))
    whole.choice("preparation", ("table",))
    if whole.count("version") != VERSION:
        raise ValueError(
            f"{name} has version {whole.count('version')}, but this Twofold reads {VERSION}: fit "
            "and save it again."
        )
    plans = tuple(_plan(name, facts) for facts in whole.fact("plans", list))
    blocks = []
    for number, facts in enumerate(whole.fact("blocks", list)):
        if not isinstance(facts, dict):
            whole.refuse(f"block {number} is not a mapping")
        label = f"{name}, block {number},"
        blocks.append(restore_block(Stored(label, facts, whole.arrays_of(str(number)))))
    _refuse_disagreement(whole, blocks, plans)
    return blocks, plans, _parameters(whole)


def _plan(name: str, facts: Any) -> ColumnPlan:
    if not isinstance(facts, dict):
        raise ValueError(f"{name} is damaged: a plan is not a mapping.")
    stored = Stored(name, facts, {})
    kind: Any = stored.choice("kind", KINDS)
    return ColumnPlan(
        stored.fact("name", str),
        kind,
        stored.count("n_missing"),
        stored.count("n_features"),
        stored.fact("note", str),
    )


def _refuse_disagreement(
    whole: Stored, blocks: Sequence[Block], plans: Sequence[ColumnPlan]
) -> None:
    """Refuse blocks of columns that are not planned, and other numbers of features."""
    planned = {plan.name: plan.n_features for plan in plans}
    if len(planned) != len(plans) or not blocks:
        whole.refuse("a column is planned twice, or there is no block")
    for block in blocks:
        facts, _ = block.save()
        for column in facts.get("columns", [facts.get("column")]):
            if not planned.get(column):
                whole.refuse(f"a block is about {str(column)[:40]!r}, which has no features")
        if facts["block"] == "column" and planned[facts["column"]] < block.n_features:
            whole.refuse(f"the column {facts['column'][:40]!r} has another number of features")


def _parameters(whole: Stored) -> dict[str, Any]:
    kinds, columns, model = (whole.facts.get(key) for key in ("kinds", "columns", "text_model"))
    if not (kinds is None or isinstance(kinds, dict)):
        whole.refuse("'kinds' is not a mapping")
    if not (columns is None or isinstance(columns, list)):
        whole.refuse("'columns' is not a list")
    if not (model is None or isinstance(model, str)):
        whole.refuse("'text_model' is not a path")
    text = whole.choice("text", ("together", "apart"))
    return {"kinds": kinds, "columns": columns, "text": text, "text_model": model}
