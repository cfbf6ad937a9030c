// The extension's log, and a trace of all messages, which is created only if it is enabled.
import * as vscode from "vscode";

export interface Logs extends vscode.Disposable {
  readonly log: vscode.LogOutputChannel;
  readonly trace: vscode.OutputChannel;
}

export function createLogs(): Logs {
  const log = vscode.window.createOutputChannel("sessiond", { log: true });
  const trace = new LazyChannel("sessiond Trace");
  return { log, trace, dispose: () => vscode.Disposable.from(log, trace).dispose() };
}

/** An output channel that is created at the first write, so that it is not listed before. */
class LazyChannel implements vscode.OutputChannel {
  readonly name: string;
  #channel: vscode.OutputChannel | undefined;

  constructor(name: string) {
    this.name = name;
  }

  append(value: string): void {
    this.#create().append(value);
  }

  appendLine(value: string): void {
    this.#create().appendLine(value);
  }

  replace(value: string): void {
    this.#create().replace(value);
  }

  clear(): void {
    this.#channel?.clear();
  }

  show(): void {
    this.#create().show(true);
  }

  hide(): void {
    this.#channel?.hide();
  }

  dispose(): void {
    this.#channel?.dispose();
    this.#channel = undefined;
  }

  #create(): vscode.OutputChannel {
    this.#channel ??= vscode.window.createOutputChannel(this.name);
    return this.#channel;
  }
}
