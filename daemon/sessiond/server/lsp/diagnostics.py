"""`textDocument/publishDiagnostics` and `textDocument/diagnostic`: the problems of a session file."""

from typing import Final

from lsprotocol import types

from sessiond.agents.recognition import ForeignProgram
from sessiond.hub.errors import ForeignDialect
from sessiond.server.lsp.documents import Document, path_of
from sessiond.server.lsp.editor import Editor
from sessiond.server.lsp.naming import id_range
from sessiond.session.tree.problems import PROBLEMS, LineProblem
from sessiond.session.tree.steps import ROWS_A_STEP, Steps

SOURCE: Final = "sessiond"
_SEVERITIES: Final = {"error": types.DiagnosticSeverity.Error, "warning": types.DiagnosticSeverity.Warning}


def register(editor: Editor) -> None:
    """Register pull diagnostics for one editor. Editors without them receive push diagnostics (`live`)."""

    async def asked(params: types.DocumentDiagnosticParams) -> types.RelatedFullDocumentDiagnosticReport:
        return types.RelatedFullDocumentDiagnosticReport(
            items=await diagnostics(editor, params.text_document.uri)
        )

    options = types.DiagnosticOptions(
        inter_file_dependencies=False, workspace_diagnostics=False, identifier=SOURCE
    )
    editor.offer(types.TEXT_DOCUMENT_DIAGNOSTIC, asked, options)


async def diagnostics(editor: Editor, uri: str) -> list[types.Diagnostic]:
    """Return the problems of a session file.

    Empty for other files, and if the editor's options exclude diagnostics.
    """
    if not editor.options.diagnostics:
        return []
    async with editor.documents.at(uri) as document:
        if document is not None:
            return await document.session.drive(_diagnostics(document))
    program = await editor.documents.foreign_program(uri)
    return [] if program is None else [_of_foreign_file(uri, program)]


def _of_foreign_file(uri: str, program: ForeignProgram) -> types.Diagnostic:
    start = types.Position(0, 0)
    return types.Diagnostic(
        range=types.Range(start, start),
        severity=types.DiagnosticSeverity.Information,
        code="foreignDialect",
        source=SOURCE,
        message=str(ForeignDialect(path_of(uri) or uri, program)),
    )


def _diagnostics(document: Document) -> Steps[list[types.Diagnostic]]:
    problems = document.tree.problems
    rows = {problem.line: problem.line - 1 - document.tree.line(0) for problem in problems}
    twins = yield from _twins(
        document, [rows[problem.line] for problem in problems if problem.kind == "duplicateEntryId"]
    )
    found: list[types.Diagnostic] = []
    for count, problem in enumerate(problems):
        if count % 50 == 0:
            yield
        diagnostic = _diagnostic(document, problem, rows[problem.line], twins)
        if diagnostic is not None:
            found.append(diagnostic)
    return found


def _diagnostic(
    document: Document, problem: LineProblem, row: int, twins: dict[str, list[int]]
) -> types.Diagnostic | None:
    tree = document.tree
    whole = 0 <= row < tree.committed and (row > 0 or tree.line(0) == problem.line - 1)
    if whole and row >= document.rows:
        return None  # the editor does not show this row yet
    line = document.line_of(row) if whole and row else problem.line - 1
    raw = document.raw_line(line)
    related = [
        types.DiagnosticRelatedInformation(
            types.Location(document.uri, id_range(document, twin)), "An earlier entry with this id."
        )
        for twin in (
            twins.get(tree.id(row) or "", []) if whole and problem.kind == "duplicateEntryId" else []
        )
        if twin < row
    ]
    return types.Diagnostic(
        range=document.range_on(line, raw, 0, len(raw)),
        severity=_SEVERITIES[problem.severity],
        code=problem.kind,
        source=SOURCE,
        message=f"{_sentence(problem.reason)} {PROBLEMS[problem.kind][1]}",
        related_information=related or None,
    )


def _twins(document: Document, rows: list[int]) -> Steps[dict[str, list[int]]]:
    """Return the rows of ids that occur twice, by id."""
    tree = document.tree
    found: dict[str, list[int]] = {tree.id(row) or "": [] for row in rows}
    for row in range(tree.committed if found else 0):
        if row % ROWS_A_STEP == 0:
            yield
        name = tree.id(row)
        if name in found and len(found[name]) < 10:
            found[name].append(row)
    return found


def _sentence(reason: str) -> str:
    text = reason[:1].upper() + reason[1:400]
    return text if text.endswith(".") else f"{text}."
