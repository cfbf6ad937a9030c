// An editor that is built on the TypeScript library of ACP. It prints a JSON object with what it received.
//
//     node acp-client.mjs LIBRARY FOLDER PROMPT COMMAND…
//
// LIBRARY is the entry of @agentclientprotocol/sdk. The client makes a turn in a new session in FOLDER, lists the
// sessions, closes the session, and loads, forks and resumes it.

import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";

const [library, cwd, text, program, ...words] = process.argv.slice(2);
const { client, methods, ndJsonStream, PROTOCOL_VERSION } = await import(library);

const agent = spawn(program, words, { stdio: ["pipe", "pipe", "inherit"] });
const stream = ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
const seen = { updates: [] };

const app = client({ name: "an editor" })
  .onNotification(methods.client.session.update, ({ params }) => {
    seen.updates.push(params.update.sessionUpdate);
  })
  .onRequest(methods.client.session.requestPermission, ({ params }) => ({
    outcome: { outcome: "selected", optionId: params.options[0].optionId },
  }));

await app.connectWith(stream, async (ctx) => {
  const session = methods.agent.session;
  seen.initialized = await ctx.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: {},
  });
  const { sessionId } = await ctx.request(session.new, { cwd, mcpServers: [] });
  const prompt = [{ type: "text", text }];
  seen.turn = await ctx.request(session.prompt, { sessionId, prompt });
  seen.live = seen.updates.splice(0);
  seen.listed = (await ctx.request(session.list, { cwd })).sessions.map((it) => it.sessionId);
  await ctx.request(session.close, { sessionId });
  await ctx.request(session.load, { sessionId, cwd, mcpServers: [] });
  seen.replayed = seen.updates.splice(0);
  seen.fork = (await ctx.request(session.fork, { sessionId, cwd, mcpServers: [] })).sessionId;
  await ctx.request(session.resume, { sessionId, cwd, mcpServers: [] });
  seen.session = sessionId;
});
agent.stdin.end();
process.stdout.write(JSON.stringify(seen));
process.exit(0);
