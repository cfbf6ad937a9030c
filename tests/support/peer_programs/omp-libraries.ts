// Two libraries of oh-my-pi's own, given by hand because registries do not serve them at the version it asks for.
//
// `pi-natives` is loaded without the check that library and caller have the very same version number; of it, sessions
// use the file lock only. `pi-utils/fs-open` is newer than the newest pi-utils that can be had; of it, sessions use one
// function, which opens a file that child processes do not inherit, as Node's own `openSync` does.

import { openSync, readdirSync } from "node:fs";
import { plugin } from "bun";

const natives = `${process.env.OMP_HOME}/natives`;
const library = readdirSync(natives).filter((name) => name.endsWith(".node")).sort()[0];

plugin({
  name: "oh-my-pi's own libraries",
  setup(build) {
    build.module("@oh-my-pi/pi-natives", () => ({ exports: { ...require(`${natives}/${library}`) }, loader: "object" }));
    build.module("@oh-my-pi/pi-utils/fs-open", () => ({ exports: { openCloexecSync: openSync }, loader: "object" }));
  },
});
