// Commands that the daemon serves (`workspace/executeCommand`), for its code actions and lenses.
//
// They run through one VS Code command, because this extension has commands of the same names with other arguments.
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

/** Redirects the commands of code actions and lenses to that command. */
export const serverCommandMiddleware: Middleware = {
  async provideCodeActions(document, range, context, token, next) {
    const actions = await next(document, range, context, token);
    return actions?.map((action) => (isCommand(action) ? redirectedCommand(action) : redirected(action)));
  },
  async resolveCodeAction(action, token, next) {
    const resolved = await next(action, token);
    return resolved && redirected(resolved);
  },
  async provideCodeLenses(document, token, next) {
    return (await next(document, token))?.map(redirected);
  },
  async resolveCodeLens(lens, token, next) {
    const resolved = await next(lens, token);
    return resolved && redirected(resolved);
  },
};

function isCommand(action: vscode.Command | vscode.CodeAction): action is vscode.Command {
  return typeof action.command === "string";
}

function redirected<T extends { command?: vscode.Command }>(offer: T): T {
  if (offer.command !== undefined) {
    offer.command = redirectedCommand(offer.command);
  }
  return offer;
}

function redirectedCommand(command: vscode.Command): vscode.Command {
  if (command.command === RUN) {
    return command;
  }
  return { ...command, command: RUN, arguments: [command.command, ...(command.arguments ?? [])] };
}
