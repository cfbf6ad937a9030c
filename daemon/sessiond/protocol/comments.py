"""Field documentation from the comment at the end of the field's line. Reads source without running it."""

import ast
import io
import tokenize


def field_comments(source: str) -> dict[str, dict[str, str]]:
    """Return class name -> field name -> the comment after the field, without its `#`."""
    by_line = {
        token.start[0]: token.string.lstrip("# ").rstrip()
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    found: dict[str, dict[str, str]] = {}
    for node in ast.parse(source).body:
        if not isinstance(node, ast.ClassDef):
            continue
        for field in node.body:
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                comment = by_line.get(field.end_lineno or field.lineno)
                if comment:
                    found.setdefault(node.name, {})[field.target.id] = comment
    return found
