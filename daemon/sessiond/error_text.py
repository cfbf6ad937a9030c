"""Exceptions whose message is made from a template on their class, which is the only place of the text.

Every command imports this module, so it imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class TemplatedError(Exception):
    """The base of exceptions with a message from a template.

    A class that is raised sets `sentence`, which says what failed, and may set `advice`, which says what to do.
    Both may contain `{names}` with a conversion and a format, as in `str.format`. A subclass that sets another
    `sentence` also sets its `advice`, unless that of its base fits. The docstring of a class does not repeat the
    text; it says when the exception is raised.

    Args:
        values: The value for each name of the template. They are stored in `values`.

    Raises:
        KeyError: The template has a name that is not among the values.
    """

    sentence: ClassVar[str]
    advice: ClassVar[str] = ""

    def __init__(self, **values: object) -> None:
        super().__init__(self.template().format_map(values))
        self.values = values

    def __reduce__(self) -> tuple[object, ...]:
        """Give copies, also those from another process, the unchanged message and attributes."""
        return _copy, (type(self), self.args, self.__dict__)

    @classmethod
    def template(cls) -> str:
        """Return the template of the message: the sentence and, if there is one, the advice."""
        return f"{cls.sentence} {cls.advice}" if cls.advice else cls.sentence


def _copy(
    kind: type[TemplatedError], args: tuple[object, ...], attributes: dict[str, object]
) -> TemplatedError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(attributes)
    return error
