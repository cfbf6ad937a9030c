// The connection: requests, notifications, progress, and the daemon's commands.
import * as assert from "node:assert/strict";
import * as vscode from "vscode";
import { becomes, type Desk, eventually, extension, idOf, open, set } from "./desk.ts";
import type { Cases } from "./suite.ts";

const RUN = "sessiond.runServerCommand";

export function connection(desk: Desk): Cases {
  const { entries, sessionId } = desk;
  return {
    "an error of the daemon has its kind": async () => {
      const { daemon } = extension().exports;
      await assert.rejects(daemon.request("session/info", { sessionId: "no-such-session" }), {
        name: "DaemonError",
        kind: "sessionNotFound",
      });
    },
    "a request that is canceled before it is sent fails as canceled": async () => {
      const { daemon } = extension().exports;
      const cancellation = new vscode.CancellationTokenSource();
      cancellation.cancel();
      await assert.rejects(daemon.request("session/search", { query: "newline" }, cancellation.token), {
        kind: "canceled",
      });
    },
    "handlers receive the progress of a request": async () => {
      const { daemon } = extension().exports;
      const steps: string[] = [];
      const listening = daemon.onNotification("$/progress", ({ token, value }) => {
        if (token === "suite-1") {
          steps.push(value.kind);
        }
      });
      await daemon.request("server/doctor", { workDoneToken: "suite-1" });
      listening.dispose();
      assert.deepEqual([steps[0], steps.at(-1)], ["begin", "end"]);
    },
    "handlers receive notifications of every connection until they are disposed": async () => {
      const { daemon } = extension().exports;
      const listen = () => {
        const titles: (string | null)[] = [];
        return { titles, listening: daemon.onNotification("session/changed", (it) => titles.push(it.session.title)) };
      };
      const [first, second] = [listen(), listen()];
      const rename = async (title: string) => {
        await becomes("attached");
        await daemon.request("session/subscribe", { sessionId });
        await daemon.request("session/rename", { sessionId, title });
        await eventually(`${title} is received`, () => second.titles.includes(title) || undefined);
      };
      await rename("Once");
      await vscode.commands.executeCommand("sessiond.restartClient");
      await rename("Twice");
      first.listening.dispose();
      await rename("Thrice");
      second.listening.dispose();
      assert.deepEqual([...new Set(first.titles)], ["Once", "Twice"]);
    },
    "the daemon executes the command of a code action": async () => {
      const { daemon } = extension().exports;
      await becomes("attached");
      const document = await open(desk.file);
      const place = idOf(document, entries.because);
      const action = await eventually("a code action that forks", async () => {
        const offered = await vscode.commands.executeCommand<vscode.CodeAction[]>(
          "vscode.executeCodeActionProvider",
          document.uri,
          new vscode.Range(place, place),
        );
        return offered.find(({ command }) => command?.arguments?.[0] === "sessiond.fork");
      });
      assert.equal(action.command?.command, RUN);
      let forked = "";
      const listening = daemon.onNotification("session/created", ({ session }) => {
        forked = session.parentPath ?? "";
      });
      await vscode.commands.executeCommand(RUN, ...(action.command?.arguments ?? []));
      await eventually("the fork", () => forked || undefined);
      listening.dispose();
      assert.ok(forked === sessionId || forked === desk.file, forked);
    },
    "lenses above user messages are shown and hidden by their setting": async () => {
      const document = await open(desk.file);
      const lenses = () =>
        vscode.commands.executeCommand<vscode.CodeLens[]>("vscode.executeCodeLensProvider", document.uri, 100);
      assert.deepEqual(await lenses(), []);
      await set("lsp.codeLens", true);
      const shown = await eventually("a lens", async () => {
        const found = await lenses();
        return found.length > 0 ? found : undefined;
      });
      assert.deepEqual([...new Set(shown.map(({ command }) => command?.command))], [RUN]);
      await set("lsp.codeLens", undefined);
      await eventually("no lens", async () => (await lenses()).length === 0 || undefined);
    },
  };
}
