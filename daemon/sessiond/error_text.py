"""Exceptions whose message is a template on their class: the text is written once and read from there.

Every command imports this, so it loads nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class TemplatedError(Exception):
    """The base of exceptions with a message from a template.

    A class that is raised sets `sentence`, which says what failed, and may set `advice`, which says what to do.
    Both may hold `{names}` with a conversion and a format, as `str.format` reads them. A subclass that sets another
    `sentence` also sets its `advice`, unless that of its base fits. The docstring of a class does not repeat the
    text; it says when the exception is raised.

    Args:
        values: What stands for each name of the template. They are kept in `values`.

    Raises:
        KeyError: The template has a name that is not among the values.
    """

    sentence: ClassVar[str]
    advice: ClassVar[str] = ""

    def __init__(self, **values: object) -> None:
        super().__init__(self.template().format_map(values))
        self.values = values

    @classmethod
    def template(cls) -> str:
        """The whole text of the message: the sentence and, where there is one, the advice."""
        return f"{cls.sentence} {cls.advice}" if cls.advice else cls.sentence
