// Runs inside the extension host of a real VS Code, with its API: what the extension promises there.
//
// VS Code calls `run` with the extension installed and a folder open (tests/editors/vscode). The report of what was
// tried goes into the folder, as report.txt.
import * as fs from "node:fs";
import * as path from "node:path";
import { connection } from "./connection.ts";
import { folder, readDesk } from "./desk.ts";
import { language } from "./language.ts";
import { offers } from "./offers.ts";
import { states } from "./states.ts";

/** A sentence about behavior, and how it is tried. */
export type Cases = Record<string, () => Promise<void>>;

export async function run(): Promise<void> {
  const desk = readDesk();
  // The states come last: they take the daemon away.
  const cases: Cases = { ...offers(), ...language(desk), ...connection(desk), ...states(desk) };
  const report: string[] = [];
  let failed = 0;
  for (const [name, attempt] of Object.entries(cases)) {
    try {
      await attempt();
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
