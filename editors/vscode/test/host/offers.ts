// The contributions of the package are registered after activation.
import * as assert from "node:assert/strict";
import * as vscode from "vscode";
import { becomes, extension } from "./desk.ts";
import type { Cases } from "./suite.ts";

interface Contributes {
  commands: { command: string; title: string; category?: string }[];
  configuration: { properties: Record<string, { default?: unknown; scope?: string }> };
}

function contributes(): Contributes {
  return extension().packageJSON.contributes as Contributes;
}

export function offers(): Cases {
  return {
    "the extension activates and attaches to the daemon of the folder": async () => {
      await extension().activate();
      const state = await becomes("attached");
      assert.match(state.version, /^\d+\.\d+/);
      assert.ok(state.methods.includes("session/tree"));
    },
    "every command of the manifest is registered, in one category": async () => {
      const registered = new Set(await vscode.commands.getCommands(true));
      const commands = contributes().commands;
      assert.ok(commands.length > 5);
      assert.deepEqual(
        commands.filter(({ command }) => !registered.has(command)).map(({ command }) => command),
        [],
      );
      assert.deepEqual([...new Set(commands.map(({ category }) => category))], ["sessiond"]);
    },
    "every setting has its default and a scope": async () => {
      const configuration = vscode.workspace.getConfiguration();
      for (const [name, described] of Object.entries(contributes().configuration.properties)) {
        assert.deepEqual(configuration.inspect(name)?.defaultValue, described.default, name);
        assert.ok(described.scope, name);
      }
    },
  };
}
