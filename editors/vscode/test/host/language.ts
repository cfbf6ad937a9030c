// The language features of session files, through VS Code's own commands.
import * as assert from "node:assert/strict";
import * as vscode from "vscode";
import { type Desk, eventually, idOf, open } from "./desk.ts";
import type { Cases } from "./suite.ts";

type Places = (vscode.Location | vscode.LocationLink)[];

export function language(desk: Desk): Cases {
  const { entries } = desk;
  return {
    "the outline of a session file has its entries, with nested forks": async () => {
      const document = await open(desk.file);
      const symbols = await eventually("an outline", async () => {
        const found = await ask<vscode.DocumentSymbol[]>("vscode.executeDocumentSymbolProvider", document.uri);
        return found?.some(({ name }) => name.includes("newline")) || undefined ? found : undefined;
      });
      const top = symbols.map(({ name }) => name).join("\n");
      const all = flat(symbols)
        .map(({ name }) => name)
        .join("\n");
      assert.match(top, /Why does it drop the last line/);
      assert.doesNotMatch(top, /Write a failing test first/);
      assert.match(all, /Write a failing test first/);
      assert.match(all, /Done: it counts/);
    },
    "a hover over an id shows its entry": async () => {
      const document = await open(desk.file);
      const hovers = await eventually("a hover", () =>
        some(ask<vscode.Hover[]>("vscode.executeHoverProvider", document.uri, idOf(document, entries.because))),
      );
      const texts = hovers.flatMap(({ contents }) => contents.map((it) => (typeof it === "string" ? it : it.value)));
      assert.match(texts.join("\n"), /It stops at the last newline/);
    },
    "the definition of an entry is its parent": async () => {
      const document = await open(desk.file);
      const found = await eventually("a definition", () =>
        some(ask<Places>("vscode.executeDefinitionProvider", document.uri, idOf(document, entries.fix))),
      );
      assert.deepEqual(lines(found), [idOf(document, entries.because).line]);
    },
    "the references of an entry are its children": async () => {
      const document = await open(desk.file);
      const found = await eventually("references", () =>
        some(ask<Places>("vscode.executeReferenceProvider", document.uri, idOf(document, entries.because))),
      );
      const expected = [idOf(document, entries.fix).line, idOf(document, entries.write_test).line];
      for (const line of expected) {
        assert.ok(lines(found).includes(line), `${lines(found)} has no line ${line}`);
      }
    },
    "a fork links to its parent session": async () => {
      const document = await open(desk.fork);
      const links = await eventually("a link", () =>
        some(ask<vscode.DocumentLink[]>("vscode.executeLinkProvider", document.uri)),
      );
      assert.ok(links.some(({ target }) => target?.fsPath === desk.file));
    },
    "ranges of a session file can be folded": async () => {
      const document = await open(desk.file);
      await eventually("a range", () =>
        some(ask<vscode.FoldingRange[]>("vscode.executeFoldingRangeProvider", document.uri)),
      );
    },
    "a line that is not an entry has a diagnostic": async () => {
      const document = await open(desk.damaged);
      const found = await eventually("a diagnostic", () => {
        const own = vscode.languages.getDiagnostics(document.uri).filter(({ source }) => source === "sessiond");
        return own.length > 0 ? own : undefined;
      });
      assert.deepEqual(
        found.map(({ range }) => range.start.line),
        [2],
      );
    },
    "a JSON lines file that is not a session has no diagnostics and no outline": async () => {
      const document = await vscode.workspace.openTextDocument({ language: "jsonl", content: '{"a": 1}\n{"b"\n' });
      await vscode.window.showTextDocument(document);
      const symbols = await ask<vscode.DocumentSymbol[]>("vscode.executeDocumentSymbolProvider", document.uri);
      assert.deepEqual(symbols ?? [], []);
      assert.deepEqual(
        vscode.languages.getDiagnostics(document.uri).filter(({ source }) => source === "sessiond"),
        [],
      );
      await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
    },
  };
}

function ask<T>(command: string, ...given: unknown[]): Thenable<T | undefined> {
  return vscode.commands.executeCommand<T>(command, ...given);
}

/** The list, if it is not empty. */
async function some<T>(list: Thenable<T[] | undefined>): Promise<T[] | undefined> {
  const found = await list;
  return found !== undefined && found.length > 0 ? found : undefined;
}

function flat(symbols: readonly vscode.DocumentSymbol[]): vscode.DocumentSymbol[] {
  return symbols.flatMap((symbol) => [symbol, ...flat(symbol.children)]);
}

function lines(places: Places): number[] {
  return places.map((it) => ("targetRange" in it ? it.targetRange : it.range).start.line);
}
