"""The table of methods: its overview names every way in which a handler runs, and each of them is in use."""

import inspect
import re
from importlib import import_module
from pathlib import Path

from sessiond.server.connection.execution import Execution
from sessiond.server.connection.loaded_late import LoadedLate
from sessiond.server.handlers import routes
from sessiond.server.handlers.routes import ROUTES

WAYS = {kind.__name__ for kind in Execution.__subclasses__() if kind.__module__ == Execution.__module__}


def test_the_overview_lists_exactly_the_ways_in_which_handlers_run() -> None:
    rows = [line for line in (routes.__doc__ or "").splitlines() if line.startswith("| `")]
    assert {row.split("`")[1] for row in rows} == WAYS


def test_each_way_is_that_of_some_method() -> None:
    assert {type(route.execution).__name__ for route in ROUTES.values()} == WAYS


def test_a_method_that_takes_effect_on_a_log_is_finished_once_it_has_begun() -> None:
    interruptible = {
        name
        for name, route in ROUTES.items()
        if route.effect in ("append", "change") and not route.execution.is_finished
    }
    assert interruptible == set()


def test_classes_that_are_loaded_late_exist_and_have_the_methods_that_rows_name() -> None:
    late = {name: value for name, value in vars(routes).items() if isinstance(value, LoadedLate)}
    assert late
    source = Path(routes.__file__).read_text(encoding="utf-8")
    for name, item in late.items():
        methods = re.findall(rf"\b{name}\.(\w+)", source)
        assert methods
        for method in methods:
            assert inspect.iscoroutinefunction(getattr(getattr(import_module(item.module), name), method))
