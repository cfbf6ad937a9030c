import assert from "node:assert/strict";
import { test } from "node:test";
import { TreeModel, type Filter } from "../../src/model/tree.ts";
import { beginsBranch, Rows } from "../../src/model/rows.ts";
import { randomIntegers, type FakeEntry, FakeTree } from "./support/fakeTree.ts";

const LIMITS = { pageSize: 600, delayMs: 0 };

function user(id: string, parentId: string | null, text = id): FakeEntry {
  return { id, parentId, type: "message", role: "user", text };
}

function assistant(id: string, parentId: string | null, text = id): FakeEntry {
  return { id, parentId, type: "message", role: "assistant", text };
}

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

async function openedModel(tree: FakeTree, filter: Filter = "default", pageSize = 600): Promise<TreeModel> {
  const session = { sessionId: "s", leafId: tree.leafId };
  const model = new TreeModel(session, { filter, query: "" }, tree.tree, () => undefined, { pageSize, delayMs: 0 });
  await model.load();
  return model;
}

function forked(): FakeTree {
  const tree = new FakeTree();
  tree.append(user("q1", null), assistant("a1", "q1"), user("q2", "a1"), assistant("a2", "q2"), user("q3", "a1"), assistant("a3", "q3"));
  return tree;
}

test("the path is one list, and another branch is folded below its fork", async () => {
  const model = await openedModel(forked());
  assert.deepEqual(rendered(model.rows), ["q1*", "a1*", "  q2 1 more", "q3*", "a3*"]);
});

test("roots off the path are branches at the top level", async () => {
  const tree = new FakeTree();
  tree.append(user("q1", null), assistant("a1", "q1"), user("r1", null), assistant("r2", "r1"), user("r3", "r2"));
  assert.deepEqual(rendered((await openedModel(tree)).rows), ["q1 1 more", "r1*", "r2*", "r3*"]);
});

test("a branch is opened with a request for its rows, and folded without one", async () => {
  const tree = forked();
  tree.append(user("q4", "q2"), user("q5", "q4"), { id: "l", parentId: "a3", type: "leaf", targetId: "a3" });
  const model = await openedModel(tree);
  assert.equal(model.visibleCount, 5);
  tree.requested = [];
  await model.openBranch("q2");
  assert.deepEqual(rendered(model.rows), ["q1*", "a1*", "  q2", "    a2", "    q4", "    q5", "q3*", "a3*"]);
  assert.equal(model.visibleCount, 8);
  assert.deepEqual(tree.requested.map(({ rootId }) => rootId), ["q2"]);
  model.closeBranch("q2");
  assert.deepEqual(rendered(model.rows), ["q1*", "a1*", "  q2 3 more", "q3*", "a3*"]);
  assert.equal(model.visibleCount, 5);
  assert.equal(tree.requested.length, 1);
});

test("an open branch stays open when the rows are read again", async () => {
  const tree = forked();
  const model = await openedModel(tree);
  await model.openBranch("q2");
  model.appended(tree.append(user("other", "q1"), { id: "l", parentId: "a3", type: "leaf", targetId: "a3" }));
  await model.idle();
  assert.deepEqual(rendered(model.rows), ["q1*", "  other", "a1*", "  q2", "    a2", "q3*", "a3*"]);
});

test("a branch that is opened while the rows are read again is opened in the new rows", async () => {
  const tree = forked();
  const model = await openedModel(tree);
  const loading = model.load();
  await Promise.all([model.openBranch("q2"), loading]);
  assert.deepEqual(rendered(model.rows), ["q1*", "a1*", "  q2", "    a2", "q3*", "a3*"]);
});

test("the branches of an entry that is looked for are opened", async () => {
  const model = await openedModel(forked());
  assert.equal((await model.loadRow("a2"))?.id, "a2");
  assert.deepEqual(rendered(model.rows), ["q1*", "a1*", "  q2", "    a2", "q3*", "a3*"]);
});

test("all branches with search results are open", async () => {
  const tree = forked();
  const model = await openedModel(tree);
  await model.setView("default", "a");
  assert.deepEqual(rendered(model.rows), ["a1*", "  a2", "a3*"]);
  await model.setView("default", "");
  assert.deepEqual(rendered(model.rows), ["q1*", "a1*", "  q2 1 more", "q3*", "a3*"]);
});

test("entries appended at the leaf are requested alone", async () => {
  const tree = forked();
  const model = await openedModel(tree);
  tree.requested = [];
  model.appended(tree.append(user("q4", "a3"), assistant("a4", "q4")));
  await model.idle();
  assert.deepEqual(tree.requested.map(({ rootId, limit }) => [rootId, limit]), [["q4", 600]]);
  assert.deepEqual(rendered(model.rows).slice(-3), ["a3*", "q4*", "a4*"]);
  assert.equal(model.tip()?.id, "a4");
});

test("a chain with a second branch becomes a fork", async () => {
  const tree = new FakeTree();
  tree.append(user("q1", null), assistant("a1", "q1"), user("q2", "a1"), assistant("a2", "q2"));
  const model = await openedModel(tree);
  model.appended(tree.append(user("q3", "a1")));
  await model.idle();
  assert.deepEqual(rendered(model.rows), ["q1*", "a1*", "  q2 1 more", "q3*"]);
});

test("the path to a moved leaf becomes the list, and the former path is folded", async () => {
  const tree = forked();
  const model = await openedModel(tree);
  model.appended(tree.append({ id: "l", parentId: "a2", type: "leaf", targetId: "a2" }));
  await model.idle();
  assert.deepEqual(rendered(model.rows), ["q1*", "a1*", "  q3 1 more", "q2*", "a2*"]);
  assert.equal(model.tip()?.id, "a2");
});

test("the rows below the leaf follow it off the path", async () => {
  const tree = forked();
  const model = await openedModel(tree);
  model.appended(tree.append({ id: "l", parentId: "q3", type: "leaf", targetId: "q3" }));
  await model.idle();
  assert.deepEqual(rendered(model.rows), ["q1*", "a1*", "  q2 1 more", "q3*", "a3"]);
  assert.equal(model.tip()?.id, "q3");
});

test("a label is set and removed, and the path ends at the same row", async () => {
  const tree = forked();
  const model = await openedModel(tree);
  model.appended(tree.append({ id: "l1", parentId: "a3", type: "label", targetId: "q2", label: "here" }));
  await model.idle();
  assert.equal(model.rows.get("q2")?.label, "here");
  assert.equal(model.tip()?.id, "a3");
  model.appended(tree.append({ id: "l2", parentId: "l1", type: "label", targetId: "q2", label: "" }));
  model.appended(tree.append(user("q4", "l2")));
  await model.idle();
  assert.equal(model.rows.get("q2")?.label, null);
  assert.deepEqual(rendered(model.rows).slice(-2), ["a3*", "q4*"]);
});

test("an empty turn is hidden when it is not the leaf any more", async () => {
  const tree = new FakeTree();
  tree.append(user("q1", null), assistant("a1", "q1", ""));
  const model = await openedModel(tree);
  assert.deepEqual(rendered(model.rows), ["q1*", "a1*"]);
  model.appended(tree.append({ id: "r1", parentId: "a1", type: "message", role: "toolResult", text: "ok" }));
  await model.idle();
  assert.deepEqual(rendered(model.rows), ["q1*", "r1*"]);
});

test("a response that arrives after another filter was requested is dropped", async () => {
  const tree = forked();
  const waiting: (() => void)[] = [];
  const session = { sessionId: "s", leafId: tree.leafId };
  const model = new TreeModel(
    session,
    { filter: "default", query: "" },
    async (params) => {
      const page = await tree.tree(params);
      await new Promise<void>((go) => waiting.push(go));
      return page;
    },
    () => undefined,
    LIMITS,
  );
  const first = model.load();
  await new Promise(setImmediate);
  const second = model.setView("userOnly", "");
  await new Promise(setImmediate);
  waiting[1]!();
  await second;
  waiting[0]!();
  await first;
  assert.deepEqual(rendered(model.rows), ["q1*", "  q2", "q3*"]);
});

test("entries appended during a load are shown after it", async () => {
  const tree = forked();
  const session = { sessionId: "s", leafId: tree.leafId };
  let note: ReturnType<FakeTree["append"]> | undefined;
  const model: TreeModel = new TreeModel(
    session,
    { filter: "default", query: "" },
    async (params) => {
      const page = await tree.tree(params);
      if (note === undefined) {
        note = tree.append(user("q4", "a3"));
        model.appended(note);
      }
      return page;
    },
    () => undefined,
    LIMITS,
  );
  await model.load();
  await model.idle();
  assert.equal(rendered(model.rows).at(-1), "q4*");
});

test("a failed load reports the error, and the former rows stay", async () => {
  const tree = forked();
  let fails = false;
  const model = new TreeModel(
    { sessionId: "s", leafId: tree.leafId },
    { filter: "default", query: "" },
    (params) => (fails ? Promise.reject(new Error("not attached")) : tree.tree(params)),
    () => undefined,
    LIMITS,
  );
  await model.load();
  fails = true;
  await model.load();
  assert.deepEqual(model.state, { kind: "failed", message: "not attached" });
  assert.equal(model.rows.size, 5);
});

function long(length: number): FakeTree {
  const tree = new FakeTree();
  tree.append(user("e0", null));
  for (let number = 1; number < length; number++) {
    tree.append(user(`e${number}`, `e${number - 1}`));
  }
  return tree;
}

test("of a long session, only the rows around the leaf are requested, and more on demand", async () => {
  const tree = long(500);
  const model = await openedModel(tree, "default", 20);
  assert.deepEqual(tree.requested.map(({ limit }) => limit), [20]);
  assert.equal(model.rows.last?.id, "e499");
  assert.equal(model.rows.before, 489);
  await model.loadEarlier();
  assert.equal(model.rows.first?.id, "e449");
  assert.equal(model.rows.children(null).length, 51);
  assert.equal((await model.loadRow("e100"))?.id, "e100");
  assert.equal(model.tip(), undefined, "the leaf is not loaded");
  await model.loadLater();
  assert.equal(model.rows.last?.id, "e148");
  assert.ok(tree.requested.every(({ limit }) => (limit ?? 1000) <= 80));
});

test("a long branch is opened as a whole", async () => {
  const tree = long(2500);
  tree.append(user("other", "e50"));
  const model = await openedModel(tree);
  assert.deepEqual(rendered(model.rows).slice(-3), ["e50*", "  e51 2448 more", "other*"]);
  await model.openBranch("e51");
  assert.equal(model.rows.children("e51").length, 2448);
  model.appended(tree.append(user("more", "other")));
  await model.idle();
  assert.equal(model.rows.children("e51").length, 2448);
  assert.equal(model.rows.last?.id, "more");
});

test("a list that grows without end is cut to the rows around the leaf", async () => {
  const tree = long(5);
  const model = await openedModel(tree, "default", 10);
  for (let number = 5; number < 100; number++) {
    model.appended(tree.append(user(`e${number}`, `e${number - 1}`)));
    await model.idle();
  }
  assert.ok(model.rows.size <= 42, String(model.rows.size));
  assert.equal(model.tip()?.id, "e99");
});

/** A random change of a session. */
function randomChange(tree: FakeTree, random: (end: number) => number, number: number): FakeEntry[] {
  const ids = tree.entries.map((entry) => entry.id);
  const any = (): string | null => (ids.length === 0 || random(12) === 0 ? null : ids[random(ids.length)]!);
  const at = random(3) > 0 ? tree.leafId : any();
  const id = `n${number}`;
  switch (random(8)) {
    case 0:
      return [{ id, parentId: tree.leafId, type: "label", targetId: any() ?? "none", label: random(2) ? "mark" : "" }];
    case 1: {
      const targetId = any();
      return [{ id, parentId: targetId, type: "leaf", targetId }];
    }
    case 2:
      return [{ id, parentId: at, type: "model_change" }];
    case 3:
      return [assistant(id, at, "")];
    case 4:
      return [user(id, at), assistant(`${id}x`, id, ""), { id: `${id}y`, parentId: `${id}x`, type: "message", role: "toolResult", text: "r" }];
    default:
      return [user(id, at)];
  }
}

for (const filter of ["default", "noTools", "userOnly", "labeledOnly", "all"] as const) {
  test(`a changed tree is rendered like one that is read again: ${filter}`, async () => {
    for (let seed = 1; seed <= 60; seed++) {
      const random = randomIntegers(seed);
      const tree = new FakeTree();
      const model = await openedModel(tree, filter);
      for (let number = 0; number < 20; number++) {
        const ids = model.rows.loaded().map((row) => row.id);
        const id = ids[random(ids.length)];
        if (id !== undefined && random(3) === 0) {
          await (random(2) === 0 ? model.openBranch(id) : fold(model, id));
        }
        model.appended(tree.append(...randomChange(tree, random, number)));
        if (random(3) > 0) {
          await model.idle();
          const shown = { rows: rendered(model.rows), tip: model.tip()?.id, count: model.visibleCount };
          await model.load();
          const read = { rows: rendered(model.rows), tip: model.tip()?.id, count: model.visibleCount };
          assert.deepEqual(shown, read, `seed ${seed}, step ${number}`);
        }
      }
      model.dispose();
    }
  });
}

async function fold(model: TreeModel, id: string): Promise<void> {
  if (!model.opensAll && beginsBranch(model.rows.get(id)!)) {
    model.closeBranch(id);
  }
}

test("a range has the rows of the whole tree", async () => {
  for (let seed = 1; seed <= 80; seed++) {
    const random = randomIntegers(seed);
    const tree = new FakeTree();
    for (let number = 0; number < 30; number++) {
      tree.append(...randomChange(tree, random, number));
    }
    const model = await openedModel(tree, "default", 1 + random(8));
    const ids = tree.entries.map((entry) => entry.id);
    await model.loadRow(ids[random(ids.length)]!);
    for (let step = 0; step < 3; step++) {
      await (random(2) === 0 ? model.loadEarlier() : model.loadLater());
    }
    const { before, size } = model.rows;
    const shown = model.rows.loaded();
    while (model.rows.before > 0 || model.rows.more) {
      await model.loadEarlier();
      await model.loadLater();
    }
    assert.equal(model.rows.size, model.visibleCount, `seed ${seed}`);
    assert.deepEqual(shown, model.rows.loaded().slice(before, before + size), `seed ${seed}`);
  }
});
