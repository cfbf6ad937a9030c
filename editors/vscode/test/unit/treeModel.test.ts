// The model of a tree, with the trees of a real daemon.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { beginsBranch, type Rows } from "../../src/model/rows.ts";
import { TreeModel } from "../../src/model/tree.ts";
import type { TreeChangedNote, TreeNode, WatchTreeParams } from "../../src/protocol.ts";
import { type Connected, Home } from "./support/daemons.ts";
import { randomIntegers } from "./support/randomIntegers.ts";
import { until } from "./support/until.ts";
import { assistant, connect, user, WatchedTree } from "./support/watchedTree.ts";

const home = new Home();
let connection: Connected;

before(async () => {
  await home.run("serve", "--detach");
  connection = await connect(home);
});

after(async () => {
  await connection.end();
  await home.run("stop");
});

/** All rows as they are rendered, indented, with their marks. */
function rendered(rows: Rows, id: string | null = null, depth = 0): string[] {
  return rows.children(id).flatMap((child) => {
    const row = rows.get(child)!;
    const marks = [
      row.onPath ? "*" : "",
      row.label === null ? "" : `[${row.label}]`,
      row.hiddenCount > 0 ? ` ${row.hiddenCount} more` : "",
    ].join("");
    return [`${"  ".repeat(depth)}${child}${marks}`, ...rendered(rows, child, depth + 1)];
  });
}

async function forked(): Promise<WatchedTree> {
  const tree = await WatchedTree.of(connection, user("q1"), assistant("a1", "yes"), user("q2"), assistant("a2", "yes"));
  await tree.append([user("q3"), assistant("a3", "yes")], { parentId: "a1" });
  return tree;
}

const FORKED = ["q1*", "a1*", "  q2 1 more", "q3*", "a3*"];
const OPENED = ["q1*", "a1*", "  q2", "    a2", "q3*", "a3*"];

test("the path is one list, and another branch is folded below its fork", async () => {
  const tree = await forked();
  const model = await tree.show();
  assert.deepEqual(rendered(model.rows), FORKED);
  assert.deepEqual([model.leafId, model.rows.tip?.id, model.state.kind], ["a3", "a3", "loaded"]);
});

test("roots off the path are branches at the top level", async () => {
  const tree = await WatchedTree.of(connection, user("q1"), assistant("a1"));
  await tree.append([user("r1"), assistant("r2"), user("r3")], { parentId: null });
  assert.deepEqual(rendered((await tree.show()).rows), ["q1 1 more", "r1*", "r2*", "r3*"]);
});

test("a branch is opened and folded", async () => {
  const tree = await forked();
  const model = await tree.show();
  await model.openBranch("q2");
  assert.deepEqual(rendered(model.rows), OPENED);
  await model.openBranch("q2");
  assert.equal(tree.watches.length, 2, "it is open already");
  model.closeBranch("q2");
  await until("it is folded", () => model.rows.get("q2")?.hiddenCount === 1);
  assert.deepEqual(rendered(model.rows), FORKED);
});

test("branches that are opened and folded together need few watches", async () => {
  const tree = await forked();
  for (let number = 0; number < 80; number++) {
    await tree.append([user(`b${number}`), user(`c${number}`)], { parentId: "q1" });
  }
  await tree.request("session/branch", { entryId: "a3" });
  const model = await tree.show();
  const ids = Array.from({ length: 80 }, (_, number) => `b${number}`);
  await Promise.all([...ids.slice(0, 5), "q2"].map((id) => model.openBranch(id)));
  assert.deepEqual(rendered(model.rows).slice(0, 3), ["q1*", "  b0", "    c0"]);
  const before = tree.watches.length;
  [...ids, "q2"].forEach((id) => model.closeBranch(id));
  await until("all are folded", () => ["q2", "b0", "b4"].every((id) => model.rows.get(id)?.hiddenCount === 1));
  assert.ok(tree.watches.length <= before + 2);
});

test("an open branch stays open when the tree changes and when it is watched again", async () => {
  const tree = await forked();
  const model = await tree.show();
  await model.openBranch("q2");
  await tree.append([user("other")], { parentId: "q1" });
  await tree.request("session/branch", { entryId: "a3" });
  await tree.current();
  assert.deepEqual(rendered(model.rows), ["q1*", "  other", ...OPENED.slice(1)]);
  await model.refresh();
  assert.deepEqual(rendered(model.rows), ["q1*", "  other", ...OPENED.slice(1)]);
});

test("a branch that is opened while other rows come is opened in these", async () => {
  const tree = await forked();
  const model = await tree.show();
  await Promise.all([model.load(), model.openBranch("q2")]);
  assert.deepEqual(rendered(model.rows), OPENED);
});

test("the branches of an entry that is looked for are opened, and can be folded", async () => {
  const tree = await forked();
  const model = await tree.show();
  assert.equal((await model.loadRow("a2"))?.id, "a2");
  assert.deepEqual(rendered(model.rows), OPENED);
  model.closeBranch("q2");
  await until("it is folded", () => model.rows.get("q2")?.hiddenCount === 1);
});

test("without an entry that is looked for, the rows around the leaf are shown", async () => {
  const tree = await forked();
  const model = await tree.show();
  assert.equal(await model.loadRow("missing"), undefined);
  assert.deepEqual([rendered(model.rows), model.state.kind], [FORKED, "loaded"]);
});

test("all branches with search results are open", async () => {
  const tree = await forked();
  const model = await tree.show();
  await model.setView("default", "yes");
  assert.deepEqual(rendered(model.rows), ["a1*", "  a2", "a3*"]);
  await model.setView("default", "");
  assert.deepEqual(rendered(model.rows), FORKED);
});

test("changes of the tree are shown without a request", async () => {
  const tree = await forked();
  const model = await tree.show();
  await tree.append([user("q4"), assistant("a4")]);
  await tree.current();
  assert.deepEqual(rendered(model.rows), [...FORKED, "q4*", "a4*"]);
  assert.deepEqual([model.leafId, model.rows.tip?.id], ["a4", "a4"]);
  await tree.request("session/label", { entryId: "q2", label: "here" });
  await tree.current();
  assert.equal(model.rows.get("q2")?.label, "here");
  await tree.request("session/label", { entryId: "q2", label: "" });
  await tree.request("session/branch", { entryId: "a2" });
  await tree.current();
  assert.deepEqual(rendered(model.rows), ["q1*", "a1*", "  q3 3 more", "q2*", "a2*"]);
  await tree.request("session/branch", { entryId: "q2" });
  await tree.current();
  assert.deepEqual(rendered(model.rows).slice(-2), ["q2*", "a2"]);
  assert.deepEqual([model.leafId, model.rows.tip?.id], ["q2", "q2"]);
  assert.equal(tree.watches.length, 1);
});

async function long(length: number): Promise<WatchedTree> {
  return WatchedTree.of(connection, ...Array.from({ length }, (_, number) => user(`e${number}`)));
}

const ends = ({ rows }: TreeModel): unknown[] => [rows.list[0]?.id, rows.list.at(-1)?.id, rows.before, rows.later];

test("of a long session, only the rows around the leaf are shown, and more on demand", async () => {
  const tree = await long(500);
  const model = await tree.show(20);
  assert.deepEqual(ends(model), ["e480", "e499", 480, 0]);
  await model.loadEarlier();
  assert.deepEqual(ends(model), ["e420", "e499", 420, 0]);
  await model.loadLater();
  assert.equal(tree.watches.length, 2);
  await model.refresh();
  assert.deepEqual(ends(model), ["e420", "e499", 420, 0]);
  assert.equal((await model.loadRow("e100"))?.id, "e100");
  assert.deepEqual(ends(model), ["e90", "e109", 90, 390]);
  assert.equal(model.rows.tip, undefined);
  await model.loadLater();
  assert.deepEqual(ends(model), ["e90", "e128", 90, 371]);
  await model.loadLater();
  assert.deepEqual(ends(model), ["e90", "e166", 90, 333]);
});

test("rows of a long session stay when something is appended elsewhere, and when they are watched again", async () => {
  const tree = await long(500);
  const model = await tree.show(20);
  await model.load("e100");
  await tree.append([user("more")]);
  await tree.current();
  await until("the number is updated", () => model.rows.later === 391);
  await model.refresh();
  assert.deepEqual(ends(model), ["e90", "e109", 90, 391]);
  assert.equal(model.leafId, "more");
  await model.load();
  await tree.append([user("again")]);
  await tree.current();
  await model.refresh();
  assert.equal(model.rows.tip?.id, "again");
});

test("the first row of a long session stays when a branch is opened", async () => {
  const tree = await long(300);
  await tree.append(Array.from({ length: 200 }, (_, number) => user(`f${number}`)), { parentId: "e200" });
  await tree.append([user("g")], { parentId: "f190" });
  const model = await tree.show(20);
  const [first, , before] = ends(model);
  await model.openBranch("f191");
  assert.deepEqual([first, before], ends(model).filter((_, index) => index % 2 === 0));
  assert.equal(model.rows.tip?.id, "g");
  assert.equal((await model.loadRow("e199"))?.id, "e199");
  await model.openBranch("e201");
  assert.equal(model.rows.children("e201").length, 98);
  model.closeBranch("e201");
  await until("it is folded", () => model.rows.get("e201")?.hiddenCount === 98);
  assert.equal(model.rows.list[0]?.id, "e189");
});

test("the first row stays when branches of any length are opened and folded near the leaf", async () => {
  const random = randomIntegers(3);
  const tree = await long(200);
  for (const [number, length] of [240, 1, 7, 120, 60].entries()) {
    const rows = Array.from({ length }, (_, index) => user(`b${number}-${index}`));
    await tree.append(rows, { parentId: `e${175 + 5 * number}` });
  }
  await tree.request("session/branch", { entryId: "e199" });
  const model = await tree.show(30);
  const first = model.rows.list[0]!.id;
  for (let step = 0; step < 20; step++) {
    const branches = model.rows.list.filter((row) => beginsBranch(row) && row.childCount > 0);
    const { id, hiddenCount } = branches[random(branches.length)]!;
    if (hiddenCount > 0) {
      await model.openBranch(id);
    } else {
      model.closeBranch(id);
      await until("it is folded", () => (model.rows.get(id)?.hiddenCount ?? 0) > 0);
    }
    assert.deepEqual([model.rows.list[0]!.id, model.rows.tip?.id], [first, "e199"], `step ${step}: ${id}`);
  }
});

test("of a branch with too many rows, the first ones are shown", async () => {
  const tree = await long(10_000);
  await tree.append(Array.from({ length: 2000 }, (_, number) => user(`f${number}`)));
  await tree.append([user("other")], { parentId: "e3" });
  const model = await tree.show();
  await model.openBranch("e4");
  assert.deepEqual([model.rows.children("e4").length, model.rows.later], [9995, 2001]);
  await model.loadLater();
  assert.equal(model.rows.later, 0);
});

test("a list that grows without end is cut to the rows around the leaf", async () => {
  const tree = await long(5);
  const model = await tree.show(10);
  for (let number = 5; number < 100; number += 5) {
    await tree.append(Array.from({ length: 5 }, (_, index) => user(`e${number + index}`)));
    await tree.current();
  }
  await until("the last rows are shown", () => model.rows.tip?.id === "e99");
  assert.ok(model.rows.list.length <= 40, String(model.rows.list.length));
});

test("a changed tree is shown like one that is read", async () => {
  for (let seed = 1; seed <= 8; seed++) {
    const random = randomIntegers(seed);
    const tree = await WatchedTree.of(connection, user("e"));
    const model = await tree.show();
    const ids = ["e"];
    const any = (): string => ids[random(ids.length)]!;
    for (let number = 0; number < 15; number++) {
      const row = model.rows.get(any());
      if (row !== undefined && beginsBranch(row) && random(2) === 0) {
        await (row.hiddenCount > 0 ? model.openBranch(row.id) : model.closeBranch(row.id));
      }
      const kind = random(8);
      if (kind < 2) {
        await tree.request("session/branch", { entryId: any() });
      } else if (kind < 4) {
        await tree.request("session/label", { entryId: any(), label: random(2) ? "mark" : "" });
      } else {
        const id = `e${number}`;
        await tree.append([kind < 6 ? assistant(id, "") : user(id)], random(2) ? { parentId: any() } : {});
        ids.push(id);
      }
      await tree.current();
      const read = await tree.read();
      await until(`the same rows: seed ${seed}, step ${number}`, () => isShown(model, read.nodes));
      assert.equal(model.leafId, read.leafId);
    }
    model.dispose();
  }
});

/** Whether these rows are shown, apart from their depth, which is not part of the view. */
function isShown({ rows }: TreeModel, nodes: readonly TreeNode[]): boolean {
  return JSON.stringify(rows.list) === JSON.stringify(nodes);
}

test("rows are shown again on another connection", async () => {
  const tree = await forked();
  const first = await connect(home);
  tree.attach(first);
  const model = await tree.show();
  await first.end();
  tree.attach(connection);
  await tree.append([user("q4")]);
  await model.refresh();
  assert.deepEqual(rendered(model.rows), [...FORKED, "q4*"]);
});

// --- notifications and responses in any order ----------------------------------------------------------------

function node(id: string): TreeNode {
  const content = { type: "message", role: "user", timestamp: null, preview: id, label: null };
  const place = { parentId: null, depth: 0, indent: 0, childCount: 0, onPath: true, lastSibling: true };
  return { id, seq: 1, ...content, ...place, gutter: "", hiddenCount: 0 };
}

function note(watchId: string, id: string, more = false): TreeChangedNote {
  const changes = [{ place: 0, removed: 0, nodes: [node(id)] }];
  return {
    watchId, sessionId: "s", logId: "l", seq: 1, leafId: id, entryCount: 1, visibleCount: 1, precedingCount: 0,
    pathEnd: 0, changes, labels: [], more,
  };
}

/** A model whose requests are answered by the test. */
function answered(onChange: (model: TreeModel) => void = () => undefined) {
  const answers: ((answer: string | Error) => void)[] = [];
  const ended: string[] = [];
  const asked: WatchTreeParams[] = [];
  const watch = (params: WatchTreeParams) => {
    asked.push(params);
    return new Promise<{ watchId: string }>((resolve, reject) =>
      answers.push((answer) => (typeof answer === "string" ? resolve({ watchId: answer }) : reject(answer))),
    );
  };
  const unwatch = ({ watchId }: { watchId: string }) => Promise.resolve(ended.push(watchId));
  const session = { sessionId: "s", leafId: null };
  const model = new TreeModel(session, { filter: "default", query: "" }, { watch, unwatch }, onChange);
  return { model, asked, answers, ended, ids: () => model.rows.list.map((row) => row.id) };
}

test("notifications may arrive before the response", async () => {
  const { model, answers, ids } = answered();
  const loading = model.load();
  model.received(note("w1", "a"));
  assert.deepEqual(ids(), []);
  answers[0]!("w1");
  await loading;
  assert.deepEqual(ids(), ["a"]);
});

test("rows are shown when those in between are there, and those of an ended watch never", async () => {
  const { model, answers, ended, ids } = answered();
  const first = model.load();
  const second = model.setView("userOnly", "");
  answers[0]!("w1");
  await until("the second watch is requested", () => answers.length === 2);
  assert.deepEqual(ended, ["w1"]);
  model.received(note("w1", "a"));
  answers[1]!("w2");
  await new Promise(setImmediate);
  model.received(note("w2", "b", true));
  assert.deepEqual(ids(), []);
  model.received({ ...note("w2", "c"), visibleCount: 2 });
  await Promise.all([first, second]);
  assert.deepEqual(ids(), ["c", "b"]);
});

test("a refused watch reports the error, and the former rows stay", async () => {
  const { model, answers, ids } = answered();
  const loading = model.load();
  answers[0]!("w1");
  await new Promise(setImmediate);
  model.received(note("w1", "a"));
  await loading;
  const again = model.refresh();
  answers[1]!(Object.assign(new Error("busy"), { code: -32000 }));
  await again;
  assert.deepEqual([ids(), model.state], [["a"], { kind: "failed", message: "busy" }]);
});

test("a watch that has lapsed begins again, unless the session cannot be read", async () => {
  const { model, answers, ended } = answered();
  void model.load();
  answers[0]!("w1");
  await new Promise(setImmediate);
  model.received({ watchId: "w1", reason: "outOfSight", message: "" });
  answers[1]!("w2");
  await new Promise(setImmediate);
  model.received({ watchId: "w2", reason: "unreadable", message: "It cannot be read." });
  assert.deepEqual([answers.length, ended, model.state], [2, [], { kind: "failed", message: "It cannot be read." }]);
});

test("rows apart from the leaf are watched again after a lapse", async () => {
  for (const reason of ["closed", "otherLog", "outOfSight"] as const) {
    const { model, asked, answers } = answered();
    void model.load("a");
    answers[0]!("w1");
    await new Promise(setImmediate);
    model.received({ ...note("w1", "a"), leafId: "z", visibleCount: 2000, precedingCount: 100, pathEnd: 1999 });
    model.received({ watchId: "w1", reason, message: "" });
    assert.equal(asked[1]!.aroundId, "a", reason);
  }
});

test("as many rows up to the leaf are watched again after a session was closed", async () => {
  const { model, asked, answers } = answered();
  void model.load();
  answers[0]!("w1");
  await new Promise(setImmediate);
  const nodes = Array.from({ length: 700 }, (_, number) => node(`e${number}`));
  const changes = [{ place: 0, removed: 0, nodes }];
  model.received({ ...note("w1", "e699"), changes, visibleCount: 700, pathEnd: 699 });
  model.received({ watchId: "w1", reason: "closed", message: "" });
  assert.deepEqual([asked[1]!.aroundId, asked[1]!.limit], [null, 700]);
});

test("rows that are wanted when others are shown come next", async () => {
  let isWanted = true;
  const { model, asked, answers } = answered((changed) => {
    if (isWanted && changed.rows.list.length > 0) {
      isWanted = false;
      void changed.load("b"); // as the view does if the leaf is not among the rows
    }
  });
  const loading = model.load("a");
  answers[0]!("w1");
  await new Promise(setImmediate);
  model.received({ ...note("w1", "a"), pathEnd: null });
  await loading;
  void model.refresh();
  answers[1]!("w2");
  await until("the rows are watched again", () => asked.length === 3);
  assert.deepEqual(asked.map((params) => params.aroundId), ["a", "b", "b"]);
});

test("the rows of a deleted session stay, and are not watched again", async () => {
  const { model, answers, ids } = answered();
  void model.load();
  answers[0]!("w1");
  await new Promise(setImmediate);
  model.received(note("w1", "a"));
  model.received({ watchId: "w1", reason: "deleted", message: "" });
  assert.deepEqual([answers.length, ids(), model.state], [1, ["a"], { kind: "loaded" }]);
});

test("a watch that begins after the end of the model is ended", async () => {
  const { model, answers, ended } = answered();
  const loading = model.load();
  model.dispose();
  await loading;
  answers[0]!("w1");
  await until("the watch is ended", () => ended.length === 1);
  await model.load();
  assert.equal(answers.length, 1);
});
