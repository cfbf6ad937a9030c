// A conversation that both peers write down: a wrong unit is found, and a cache is built twice. Each of the two
// programs tells it with its own SessionManager; `tell` says what happens, in which order.

export const cwd = "/home/dev/weather";
export const sonnet = { provider: "anthropic", modelId: "claude-sonnet-4-5" };
export const opus = { provider: "anthropic", modelId: "claude-opus-4-5" };

/**
 * `log` has message, model, thinking, label, branch, compaction and title; message, branch and compaction
 * give the id of what they wrote.
 */
export async function tell(log) {
  let model = sonnet;
  const user = (text) => log.message({ role: "user", content: [{ type: "text", text }], timestamp: Date.now() });
  const assistant = (...content) => log.message(turn(model, content));

  log.model(model);
  log.thinking("medium");

  user("`weather Oslo` prints 41° and it is November. Find out why.");
  assistant(
    thinking("41 looks like Fahrenheit. I should see where the temperature is turned into text."),
    says("41° would be 5 °C. I will look at where temperatures become text."),
    calls("call_01", "grep", { pattern: "temperature", path: "src" }),
  );
  log.message(result("call_01", "grep", "src/weather/text.py:7:def temperature(value, unit):\nsrc/weather/main.py:19:    print(temperature(now.value, unit='F'))"));
  assistant(calls("call_02", "read", { path: "src/weather/text.py" }));
  log.message(result("call_02", "read", "def temperature(value, unit):\n    if unit == 'F':\n        value = value * 9 / 5 + 32\n    return f'{value:.0f}°'"));
  assistant(says("`main.py` asks for unit 'F' whatever the user's locale is, and the text drops the letter. So 5 °C in Oslo comes out as 41°."));

  user("Fix it, with a test.");
  assistant(
    says("The unit will come from the locale, and the letter will be printed."),
    calls("call_03", "edit", { path: "src/weather/main.py", old: "unit='F'", new: "unit=preferred_unit()" }),
    calls("call_04", "write", { path: "tests/test_text.py", content: "def test_oslo_is_in_celsius():\n    assert temperature(5, 'C') == '5 °C'\n" }),
  );
  log.message(result("call_03", "edit", "1 replacement in src/weather/main.py"));
  log.message(result("call_04", "write", "tests/test_text.py, 2 lines"));
  assistant(calls("call_05", "bash", { command: "pytest -q" }));
  log.message(result("call_05", "bash", "...                                                  [100%]\n3 passed in 0.08s"));
  const fixed = assistant(says("Fixed: `weather Oslo` prints 5 °C, and three tests pass."));
  log.label(fixed, "units fixed");

  user("Now keep the answers for a while, so that we do not ask the service each time.");
  assistant(
    thinking("A cache needs an age and must survive the end of the process. SQLite does both."),
    says("I will keep answers in a small SQLite database."),
    calls("call_06", "write", { path: "src/weather/cache.py", content: "import sqlite3\n# … 84 lines\n" }),
  );
  log.message(result("call_06", "write", "src/weather/cache.py, 84 lines"));
  const sqlite = assistant(says("Done: `cache.py` keeps answers in SQLite for ten minutes. It is 84 lines, mostly about locking."));
  log.label(sqlite, "sqlite cache");

  log.branch(fixed, "Tried a cache in SQLite: it works, but takes 84 lines, most of them about locking. Left on its own branch.");
  const simpler = user("Simpler, please: one JSON file per place, ten minutes old at most.");
  assistant(calls("call_07", "write", { path: "src/weather/cache.py", content: "from pathlib import Path\n# … 19 lines\n" }));
  log.message(result("call_07", "write", "src/weather/cache.py, 19 lines"));
  assistant(says("Now it is 19 lines: the file's own time says how old an answer is."));

  log.compaction(
    "The temperature was printed in Fahrenheit without saying so; the unit now comes from the locale (src/weather/main.py, tests/test_text.py, 3 tests pass). A cache in SQLite was tried and left on another branch.",
    simpler,
    18200,
  );
  model = opus;
  log.model(model);
  user("What is left to do before we publish 0.2?");
  const left = assistant(says("Three things:\n1. a line about the cache in the README,\n2. `weather --fresh` to go around the cache,\n3. the version in pyproject.toml."));
  log.label(left, "before 0.2");
  await log.title("Weather: wrong units, then a cache");
}

const says = (text) => ({ type: "text", text });
const thinking = (text) => ({ type: "thinking", thinking: text, thinkingSignature: "" });
const calls = (id, name, given) => ({ type: "toolCall", id, name, arguments: given });

function turn(model, content) {
  const usage = { input: 1200, output: 90, cacheRead: 0, cacheWrite: 0, totalTokens: 1290 };
  const cost = { input: 0.0036, output: 0.00135, cacheRead: 0, cacheWrite: 0, total: 0.00495 };
  const stopReason = content.some((block) => block.type === "toolCall") ? "toolUse" : "stop";
  return {
    role: "assistant",
    content,
    api: "anthropic-messages",
    provider: model.provider,
    model: model.modelId,
    usage: { ...usage, cost },
    stopReason,
    timestamp: Date.now(),
  };
}

function result(toolCallId, toolName, text) {
  const content = [{ type: "text", text }];
  return { role: "toolResult", toolCallId, toolName, content, isError: false, timestamp: Date.now() };
}
