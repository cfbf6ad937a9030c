"""Documentation of fields and of enumerations, read from source without running it."""

import ast
import io
import itertools
import tokenize


def field_comments(source: str) -> dict[str, dict[str, str]]:
    """Return class name -> field name -> its comment, without the `#`.

    The comment stands in the lines of the field, or on lines of its own directly above it.
    """
    comments = {
        token.start[0]: (token.string.lstrip("# ").rstrip(), token.line.lstrip().startswith("#"))
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    found: dict[str, dict[str, str]] = {}
    for node in ast.parse(source).body:
        if not isinstance(node, ast.ClassDef):
            continue
        for field in node.body:
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                lines = range(field.lineno, (field.end_lineno or field.lineno) + 1)
                beside = " ".join(comments[line][0] for line in lines if line in comments)
                if comment := beside or _above(field.lineno, comments):
                    found.setdefault(node.name, {})[field.target.id] = comment
    return found


def alias_documentation(source: str) -> dict[str, str]:
    """Return the text below each assignment of a module: name -> text."""
    body = ast.parse(source).body
    return {
        statement.targets[0].id: text.value.value
        for statement, text in itertools.pairwise(body)
        if isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


def _above(line: int, comments: dict[int, tuple[str, bool]]) -> str:
    """Return the comment on the lines directly above a line, joined."""
    lines: list[str] = []
    while (found := comments.get(line - 1 - len(lines))) and found[1]:
        lines.insert(0, found[0])
    return " ".join(lines)
