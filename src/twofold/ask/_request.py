"""What a user asks `twofold ask` for; kept in the project, so that it can be fitted later."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from twofold.tasks import FitRequest

PATHS = ("data", "right", "features", "text_model")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskRequest:
    """The data to ask about; see the command for each."""

    data: Path
    right: Path | None = None
    features: Path | None = None
    id_column: str | None = None
    text: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    image: str | None = None
    image_size: int | None = None
    text_model: Path | None = None
    seed: int = 0

    def fit_request(self) -> FitRequest:
        """Return the request by which `twofold fit` would read the same data."""
        return FitRequest(
            data=self.data,
            right=self.right,
            out=self.data,
            id_column=self.id_column,
            text=self.text,
            columns=self.columns,
            image=self.image,
            image_size=self.image_size,
            text_model=self.text_model,
            seed=self.seed,
        )

    def to_json(self) -> str:
        """Return the request as a text to keep, its paths from the root on."""
        plain = asdict(self)
        for name in PATHS:
            if plain[name] is not None:
                plain[name] = str(Path(plain[name]).resolve())
        return json.dumps(plain)

    @classmethod
    def from_json(cls, text: str) -> AskRequest:
        """Return a request that was kept."""
        kept: dict[str, Any] = json.loads(text)
        plain = {one.name: kept[one.name] for one in fields(cls) if one.name in kept}
        for name in PATHS:
            if plain.get(name) is not None:
                plain[name] = Path(plain[name])
        for name in ("text", "columns"):
            plain[name] = tuple(plain.get(name, ()))
        return cls(**plain)
