// Tests that run inside the extension host of a real VS Code, with its API.
//
// VS Code calls `run` with the extension installed and a folder open (tests/editors/vscode). The report is written to
// report.txt in the folder.
import * as fs from "node:fs";
import * as path from "node:path";
import { connection } from "./connection.ts";
import { folder, readDesk } from "./desk.ts";
import { language } from "./language.ts";
import { offers } from "./offers.ts";
import { states } from "./states.ts";

/** Tests by a sentence about the behavior. */
export type Cases = Record<string, () => Promise<void>>;

export async function run(): Promise<void> {
  const desk = readDesk();
  // The states come last, because they stop the daemon.
  const cases: Cases = { ...offers(), ...language(desk), ...connection(desk), ...states(desk) };
  const report: string[] = [];
  let failed = 0;
  for (const [name, test] of Object.entries(cases)) {
    try {
      await test();
      report.push(`ok: ${name}`);
    } catch (error) {
      failed += 1;
      report.push(`FAILED: ${name}\n${error instanceof Error ? error.stack : String(error)}`);
    }
    fs.writeFileSync(path.join(folder(), "report.txt"), `${report.join("\n")}\n`);
  }
  fs.appendFileSync(path.join(folder(), "report.txt"), `${report.length - failed} ok, ${failed} failed\n`);
  if (failed > 0) {
    throw new Error(report.join("\n"));
  }
}
