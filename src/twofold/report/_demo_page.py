"""The demo's page: a pure function of its record."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from twofold.experiments import PhaseOneDemo
from twofold.report._figures import loss_curves, target_map


def demo_page(demo: PhaseOneDemo) -> str:
    """Return the page as HTML that needs nothing beside itself."""
    environment = Environment(
        loader=PackageLoader("twofold.report"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    iterated = {run.recipe.name: run.solution.history for run in demo.runs if run.solution.n_epochs}
    return environment.get_template("demo.html.j2").render(
        demo=demo,
        curves=loss_curves(iterated),
        maps=[(run, target_map(run.solution.points, demo.classes)) for run in demo.runs],
    )
