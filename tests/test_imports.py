"""Imports point one way: the order of the design, held for every module, and no cycle at all."""

from __future__ import annotations

import ast
import importlib
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

import twofold

ROOT = Path(twofold.__file__).parent

LEVELS = (
    ("relations", "datasets", "evaluation", "search", "preparation"),
    ("targets", "regression", "metric"),
    ("feedback",),
    ("asking",),
    ("estimators",),
    ("matching",),
    ("baselines",),
    ("experiments",),
    ("tasks",),
    ("report", "ask", "serving"),
    ("cli",),
)
LEVEL = {package: level for level, packages in enumerate(LEVELS) for package in packages}


def module_name(path: Path) -> str:
    """Return the dotted name of a file under the package's root."""
    parts = ["twofold", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(source: str, module: str, is_package: bool) -> list[tuple[int, str]]:
    """Return (line, dotted name) of every import of twofold, wherever in the source it stands.

    `from a import b` counts as a.b, since b may be a module.
    """
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = node.module or ""
            if node.level:
                steps_up = node.level - is_package
                package = module.split(".")[: len(module.split(".")) - steps_up]
                start = ".".join([*package, *filter(None, [node.module])])
            found += [(node.lineno, f"{start}.{alias.name}") for alias in node.names]
    return [(line, name) for line, name in found if name.split(".")[0] == "twofold"]


def why_forbidden(importer: str, imported: str) -> str | None:
    """Return what is wrong with an import between two modules, None if nothing is."""
    inner, outer = ((name + ".").split(".")[1] for name in (importer, imported))
    if inner not in LEVEL and inner != "_core":
        return None  # the public surface, above all packages
    if outer in (inner, "_core", "__version__"):
        return None
    if outer not in LEVEL:
        return "goes through the public surface, which stands above all packages"
    if inner == "_core":
        return "_core imports no other package"
    if LEVEL[outer] == LEVEL[inner]:
        return f"{inner} and {outer} are strangers"
    if LEVEL[outer] > LEVEL[inner]:
        return f"{outer} stands above {inner}"
    return None


def violations(source: str, module: str, is_package: bool = False) -> list[str]:
    """Return a sentence for every import of `source` that points the wrong way."""
    return [
        f"{module}, line {line}: import of {name}: {reason}"
        for line, name in imported_modules(source, module, is_package)
        if (reason := why_forbidden(module, name))
    ]


MODULES = sorted(ROOT.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=[module_name(path) for path in MODULES])
def test_imports_point_one_way(path):
    found = violations(path.read_text(), module_name(path), path.name == "__init__.py")
    assert not found, "\n".join(found)


def test_every_package_has_its_place_in_the_order():
    packages = {path.parent.relative_to(ROOT).parts[0] for path in ROOT.glob("*/**/*.py")}
    assert packages - {"_core"} <= set(LEVEL)
    assert {"relations", "evaluation", "targets"} <= packages


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("twofold.relations._labels", "from twofold.targets import solve_targets"),
        ("twofold.relations._labels", "from twofold.targets._solve import solve_targets"),
        ("twofold.relations._labels", "import twofold.targets"),
        ("twofold.relations._labels", "import numpy, twofold.targets._solve as solve"),
        ("twofold.relations._labels", "from twofold import targets"),
        ("twofold.relations._labels", "from twofold import _core, targets as t"),
        ("twofold.relations._labels", "from ..targets import solve_targets"),
        ("twofold.relations._labels", "from .. import targets"),
        ("twofold.relations._labels", "from ..targets._solve import solve_targets"),
        ("twofold.relations._labels", "def f():\n    from twofold.cli import main"),
        ("twofold.relations._labels", "class A:\n    def f(self):\n        import twofold.report"),
        ("twofold.relations._labels", "if TYPE_CHECKING:\n    from twofold.targets import X"),
        (
            "twofold.relations._labels",
            "try:\n    import twofold.cli\nexcept ImportError:\n    pass",
        ),
        ("twofold.relations._labels", "from twofold.evaluation import pair_auroc"),
        ("twofold.relations._labels", "import twofold"),
        ("twofold.relations._labels", "from twofold import MetricLearner"),
        ("twofold.relations._labels", "from twofold import *"),
        ("twofold.relations._labels", "from twofold.nowhere import x"),
        ("twofold.targets._solve", "from twofold.regression import fit"),
        ("twofold.regression._fit", "from twofold.targets import solve_targets"),
        ("twofold.targets", "from twofold.estimators import MetricLearner"),
        ("twofold.feedback._rounds", "from twofold.asking import suggest"),
        ("twofold.asking._suggest", "from twofold.estimators import MetricLearner"),
        ("twofold.estimators._learner", "from twofold.baselines import SiameseLearner"),
        ("twofold.experiments._run", "from twofold.report import page"),
        ("twofold.report._page", "from twofold.cli import main"),
        ("twofold.targets.deep._kernel", "from ...estimators import MetricLearner"),
        ("twofold._core.checks", "from twofold.relations import PairRelation"),
        ("twofold._core", "from ..relations import PairRelation"),
    ],
)
def test_an_import_that_points_the_wrong_way_is_found(module, source):
    is_package = module.count(".") == 1
    assert len(violations(source, module, is_package)) == 1


def test_relative_imports_of_a_package_count_from_itself():
    assert violations("from ..cli import main", "twofold.relations", is_package=True)
    assert not violations("from ._labels import X", "twofold.relations", is_package=True)
    assert not violations("from . import _labels", "twofold.relations", is_package=True)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("twofold.targets._solve", "from twofold.relations import PairRelation"),
        ("twofold.targets._solve", "from twofold.targets._adam import minimise"),
        ("twofold.targets._solve", "from . import _adam"),
        ("twofold.targets._solve", "from ._adam import minimise"),
        ("twofold.targets._solve", "from .. import relations"),
        ("twofold.targets._solve", "from twofold._core.checks import check_count"),
        ("twofold._core.checks", "from twofold._core.random import as_generator"),
        ("twofold._core.checks", "import numpy\nfrom twofoldness import targets"),
        ("twofold.cli._main", "from twofold import __version__, report, relations"),
        ("twofold.report._page", "def f():\n    import twofold.experiments.records"),
        ("twofold", "from twofold.estimators import MetricLearner"),
        ("twofold.__main__", "from twofold.cli import main"),
    ],
)
def test_an_import_that_points_the_right_way_is_left_alone(module, source):
    assert not violations(source, module, is_package=module == "twofold")


def test_the_sentence_names_the_module_the_line_and_the_import():
    (sentence,) = violations("import os\nimport twofold.cli", "twofold.targets._exact")
    assert sentence == (
        "twofold.targets._exact, line 2: import of twofold.cli: cli stands above targets"
    )


# No cycle, not even for types


def sources() -> dict[str, tuple[str, bool]]:
    """Return the text of every module of the package, and whether it is an `__init__`."""
    return {module_name(path): (path.read_text(), path.name == "__init__.py") for path in MODULES}


def import_graph(modules: dict[str, tuple[str, bool]]) -> dict[str, set[str]]:
    """Return which modules each one imports, also inside functions and for types only.

    A name that a package passes on from one of its modules counts as that module's.
    """
    imported = {
        module: [name for _, name in imported_modules(source, module, is_package)]
        for module, (source, is_package) in modules.items()
    }

    def home(name: str) -> str:
        """Return the module that a dotted name is defined in."""
        if name in modules:
            return name
        package, _, last = name.rpartition(".")
        if package not in modules:
            return home(package)
        passed_on = [other for other in imported[package] if other.rpartition(".")[2] == last]
        return home(passed_on[0]) if passed_on else package

    return {module: {home(name) for name in names} - {module} for module, names in imported.items()}


def first_cycle(modules: dict[str, tuple[str, bool]]) -> list[str]:
    """Return modules of which each imports the next, from one back to itself; [] if none do."""
    try:
        TopologicalSorter(import_graph(modules)).prepare()
    except CycleError as cycle:
        return cycle.args[1][::-1]
    return []


def test_no_module_imports_one_that_imports_it_back_not_even_for_types():
    cycle = first_cycle(sources())
    assert not cycle, " imports ".join(cycle)


A, B, C = "twofold.targets._a", "twofold.targets._b", "twofold.targets._c"


@pytest.mark.parametrize(
    ("a", "b", "c"),
    [
        ("from twofold.targets._b import x", "from ._a import y", ""),
        ("if TYPE_CHECKING:\n    from ._b import X", "from ._a import y", ""),
        ("from ._b import x", "def f():\n    from . import _a", ""),
        ("import twofold.targets._b", "from ._c import x", "from twofold.targets import first"),
    ],
)
def test_a_cycle_is_found(a, b, c):
    package = "from twofold.targets._a import first"
    modules = {
        "twofold.targets": (package, True),
        **{name: (source, False) for name, source in ((A, a), (B, b), (C, c))},
    }
    cycle = first_cycle(modules)
    assert {A, B} <= set(cycle) <= {A, B, C}
    assert cycle[0] == cycle[-1]
    assert all(after in import_graph(modules)[before] for before, after in pairwise(cycle))


def test_a_name_that_a_package_passes_on_is_its_module_s():
    modules = {
        "twofold": ("from twofold.targets import first", True),
        "twofold.targets": ("from twofold.targets._a import first\nhere = 1", True),
        A: ("first = 1", False),
        B: ("from twofold.targets import first", False),
        C: ("from twofold.targets import here", False),
        "twofold.cli": ("from twofold import first", False),
    }
    graph = import_graph(modules)
    assert (graph[B], graph[C], graph["twofold.cli"]) == ({A}, {"twofold.targets"}, {A})
    assert not first_cycle(modules)


@pytest.mark.parametrize("package", ["twofold", *(f"twofold.{name}" for name in LEVEL)])
def test_every_name_that_a_package_offers_is_there(package):
    module = importlib.import_module(package)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
