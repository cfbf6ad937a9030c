// Bundle the extension into one file. `--watch` goes on building while one works.
import * as esbuild from "esbuild";

const options = {
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.js",
  bundle: true,
  external: ["vscode"],
  format: "cjs",
  platform: "node",
  target: "node20", // what the oldest VS Code of `engines` brings
  minify: true,
  keepNames: true, // an error in a log should name the function
  logLevel: "warning",
};

if (process.argv.includes("--watch")) {
  await (await esbuild.context({ ...options, minify: false, sourcemap: true, logLevel: "info" })).watch();
} else {
  await esbuild.build(options);
}
