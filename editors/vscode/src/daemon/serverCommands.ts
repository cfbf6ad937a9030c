// Commands that the daemon itself serves (`workspace/executeCommand`): those of its code actions and lenses.
//
// They run under one name of ours, for theirs are VS Code commands of this extension, too, with other arguments.
import * as vscode from "vscode";
import type { Middleware } from "vscode-languageclient/node";
import { showError } from "../userMessages.ts";

export const RUN = "sessiond.runServerCommand";

/** Runs a command in the daemon. */
type Run = (command: string, parameters: unknown[]) => Promise<unknown>;

export function registerServerCommands(run: Run): vscode.Disposable {
  return vscode.commands.registerCommand(RUN, async (command: string, ...parameters: unknown[]) => {
    try {
      return await run(command, parameters);
    } catch (error) {
      showError(error);
      return undefined;
    }
  });
}

/** Lets what the daemon offers run under our name. */
export const serverCommandMiddleware: Middleware = {
  async provideCodeActions(document, range, context, token, next) {
    const actions = await next(document, range, context, token);
    return actions?.map((action) => (isCommand(action) ? ours(action) : rewritten(action)));
  },
  async resolveCodeAction(action, token, next) {
    const resolved = await next(action, token);
    return resolved && rewritten(resolved);
  },
  async provideCodeLenses(document, token, next) {
    return (await next(document, token))?.map(rewritten);
  },
  async resolveCodeLens(lens, token, next) {
    const resolved = await next(lens, token);
    return resolved && rewritten(resolved);
  },
};

function isCommand(action: vscode.Command | vscode.CodeAction): action is vscode.Command {
  return typeof action.command === "string";
}

function rewritten<T extends { command?: vscode.Command }>(offer: T): T {
  if (offer.command !== undefined) {
    offer.command = ours(offer.command);
  }
  return offer;
}

function ours(command: vscode.Command): vscode.Command {
  if (command.command === RUN) {
    return command;
  }
  return { ...command, command: RUN, arguments: [command.command, ...(command.arguments ?? [])] };
}
