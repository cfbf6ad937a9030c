import assert from "node:assert/strict";
import { test } from "node:test";
import { TreeModel, type Filter } from "../../src/model/tree.ts";
import { Rows } from "../../src/model/rows.ts";
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
    const marks = `${row.onPath ? "*" : ""}${row.label === null ? "" : `[${row.label}]`}`;
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

test("a chain is flat, and the branches of a fork are nested below it", async () => {
  const model = await openedModel(forked());
  assert.deepEqual(rendered(model.rows), ["q1*", "a1*", "  q2", "    a2", "  q3*", "    a3*"]);
});

test("several roots are branches at the top level", async () => {
  const tree = new FakeTree();
  tree.append(user("q1", null), assistant("a1", "q1"), user("r1", null), assistant("r2", "r1"), user("r3", "r2"));
  assert.deepEqual(rendered((await openedModel(tree)).rows), ["q1", "  a1", "r1*", "  r2*", "  r3*"]);
});

test("entries appended at the leaf are requested alone", async () => {
  const tree = forked();
  const model = await openedModel(tree);
  tree.requested = [];
  model.appended(tree.append(user("q4", "a3"), assistant("a4", "q4")));
  await model.idle();
  assert.deepEqual(tree.requested.map(({ rootId, limit }) => [rootId, limit]), [["q4", 600]]);
  assert.deepEqual(rendered(model.rows).slice(-3), ["    a3*", "    q4*", "    a4*"]);
  assert.equal(model.tip()?.id, "a4");
});

test("a chain with a second branch becomes a fork", async () => {
  const tree = new FakeTree();
  tree.append(user("q1", null), assistant("a1", "q1"), user("q2", "a1"), assistant("a2", "q2"));
  const model = await openedModel(tree);
  model.appended(tree.append(user("q3", "a1")));
  await model.idle();
  assert.deepEqual(rendered(model.rows), ["q1*", "a1*", "  q2", "    a2", "  q3*"]);
});

test("a moved leaf changes the marks without a request", async () => {
  const tree = forked();
  const model = await openedModel(tree);
  tree.requested = [];
  model.appended(tree.append({ id: "l", parentId: "a2", type: "leaf", targetId: "a2" }));
  await model.idle();
  assert.deepEqual(rendered(model.rows), ["q1*", "a1*", "  q2*", "    a2*", "  q3", "    a3"]);
  assert.deepEqual(tree.requested, []);
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
  assert.deepEqual(rendered(model.rows).slice(-2), ["    a3*", "    q4*"]);
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
  assert.deepEqual(rendered(model.rows), ["q1*", "  q2", "  q3*"]);
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
  assert.equal(rendered(model.rows).at(-1), "    q4*");
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
  assert.equal(model.rows.size, 6);
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
  assert.equal(model.rows.last?.id, "e149");
  assert.ok(tree.requested.every(({ limit }) => (limit ?? 1000) <= 80));
});

test("a page from the middle is nested below the forks above it", async () => {
  const tree = long(100);
  tree.append(user("other", "e50"));
  for (let number = 0; number < 100; number++) {
    tree.append(user(`b${number}`, number === 0 ? "other" : `b${number - 1}`));
  }
  const model = await openedModel(tree, "default", 20);
  assert.deepEqual(model.rows.children(null), ["e50"]);
  assert.deepEqual(model.rows.children("e50"), ["other"]);
  assert.deepEqual(model.rows.children("other").at(-1), "b99");
  assert.equal(model.tip()?.id, "b99");
  model.appended(tree.append(user("c", "b99")));
  await model.idle();
  assert.equal(model.rows.children("other").at(-1), "c");
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
    for (let seed = 1; seed <= 40; seed++) {
      const random = randomIntegers(seed);
      const tree = new FakeTree();
      const model = await openedModel(tree, filter);
      for (let number = 0; number < 20; number++) {
        model.appended(tree.append(...randomChange(tree, random, number)));
        if (random(3) > 0) {
          await model.idle();
          const reloaded = await openedModel(tree, filter);
          assert.deepEqual(rendered(model.rows), rendered(reloaded.rows), `seed ${seed}, step ${number}`);
          assert.equal(model.tip()?.id, reloaded.tip()?.id, `seed ${seed}, step ${number}`);
          assert.equal(model.visibleCount, reloaded.visibleCount, `seed ${seed}, step ${number}`);
        }
      }
      model.dispose();
    }
  });
}

test("a range is rendered like the same range of the whole tree", async () => {
  for (let seed = 1; seed <= 80; seed++) {
    const random = randomIntegers(seed);
    const tree = new FakeTree();
    for (let number = 0; number < 30; number++) {
      tree.append(...randomChange(tree, random, number));
    }
    const whole = await openedModel(tree);
    const model = await openedModel(tree, "default", 1 + random(8));
    const ids = tree.entries.map((entry) => entry.id);
    await model.loadRow(ids[random(ids.length)]!);
    for (let step = 0; step < 3; step++) {
      await (random(2) === 0 ? model.loadEarlier() : model.loadLater());
    }
    for (const row of model.rows.loaded()) {
      const partial = model.rows.rendered(row.id)!;
      const complete = whole.rows.rendered(row.id)!;
      assert.equal(partial.under, complete.under, `seed ${seed}, ${row.id}`);
      assert.deepEqual(partial.children, complete.children.filter((child) => model.rows.get(child) !== undefined));
    }
  }
});
