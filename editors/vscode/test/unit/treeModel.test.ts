import assert from "node:assert/strict";
import { test } from "node:test";
import { TreeModel, type Filter } from "../../src/model/tree.ts";
import { Rows } from "../../src/model/rows.ts";
import { chances, type FakeEntry, FakeTree } from "./support/fakeTree.ts";

const NOW = { page: 600, gathering: 0 };

function user(id: string, parentId: string | null, text = id): FakeEntry {
  return { id, parentId, type: "message", role: "user", text };
}

function said(id: string, parentId: string | null, text = id): FakeEntry {
  return { id, parentId, type: "message", role: "assistant", text };
}

/** All the rows as they are drawn, with what is known of each. */
function drawn(rows: Rows, id: string | null = null, depth = 0): string[] {
  return rows.children(id).flatMap((child) => {
    const row = rows.get(child)!;
    const marks = `${row.onPath ? "*" : ""}${row.label === null ? "" : `[${row.label}]`}`;
    return [`${"  ".repeat(depth)}${child}${marks}`, ...drawn(rows, child, depth + 1)];
  });
}

async function opened(tree: FakeTree, filter: Filter = "default", page = 600): Promise<TreeModel> {
  const session = { sessionId: "s", leafId: tree.leafId };
  const model = new TreeModel(session, { filter, query: "" }, tree.tree, () => undefined, { page, gathering: 0 });
  await model.load();
  return model;
}

function forked(): FakeTree {
  const tree = new FakeTree();
  tree.append(user("q1", null), said("a1", "q1"), user("q2", "a1"), said("a2", "q2"), user("q3", "a1"), said("a3", "q3"));
  return tree;
}

test("a chain is one list, and what hangs on a fork is below it, branch by branch", async () => {
  const model = await opened(forked());
  assert.deepEqual(drawn(model.rows), ["q1*", "a1*", "  q2", "    a2", "  q3*", "    a3*"]);
});

test("several roots are branches of nothing", async () => {
  const tree = new FakeTree();
  tree.append(user("q1", null), said("a1", "q1"), user("r1", null), said("r2", "r1"), user("r3", "r2"));
  assert.deepEqual(drawn((await opened(tree)).rows), ["q1", "  a1", "r1*", "  r2*", "  r3*"]);
});

test("what is appended at the leaf is asked for alone", async () => {
  const tree = forked();
  const model = await opened(tree);
  tree.asked = [];
  model.appended(tree.append(user("q4", "a3"), said("a4", "q4")));
  await model.idle();
  assert.deepEqual(tree.asked.map(({ rootId, limit }) => [rootId, limit]), [["q4", 600]]);
  assert.deepEqual(drawn(model.rows).slice(-3), ["    a3*", "    q4*", "    a4*"]);
  assert.equal(model.tip()?.id, "a4");
});

test("a chain that gets a second branch becomes a fork", async () => {
  const tree = new FakeTree();
  tree.append(user("q1", null), said("a1", "q1"), user("q2", "a1"), said("a2", "q2"));
  const model = await opened(tree);
  model.appended(tree.append(user("q3", "a1")));
  await model.idle();
  assert.deepEqual(drawn(model.rows), ["q1*", "a1*", "  q2", "    a2", "  q3*"]);
});

test("a leaf that moves moves the marks, and nothing is read", async () => {
  const tree = forked();
  const model = await opened(tree);
  tree.asked = [];
  model.appended(tree.append({ id: "l", parentId: "a2", type: "leaf", targetId: "a2" }));
  await model.idle();
  assert.deepEqual(drawn(model.rows), ["q1*", "a1*", "  q2*", "    a2*", "  q3", "    a3"]);
  assert.deepEqual(tree.asked, []);
});

test("a label appears and goes, and the path ends where it did", async () => {
  const tree = forked();
  const model = await opened(tree);
  model.appended(tree.append({ id: "l1", parentId: "a3", type: "label", targetId: "q2", label: "here" }));
  await model.idle();
  assert.equal(model.rows.get("q2")?.label, "here");
  assert.equal(model.tip()?.id, "a3");
  model.appended(tree.append({ id: "l2", parentId: "l1", type: "label", targetId: "q2", label: "" }));
  model.appended(tree.append(user("q4", "l2")));
  await model.idle();
  assert.equal(model.rows.get("q2")?.label, null);
  assert.deepEqual(drawn(model.rows).slice(-2), ["    a3*", "    q4*"]);
});

test("a turn without words goes when it is the leaf no more", async () => {
  const tree = new FakeTree();
  tree.append(user("q1", null), said("a1", "q1", ""));
  const model = await opened(tree);
  assert.deepEqual(drawn(model.rows), ["q1*", "a1*"]);
  model.appended(tree.append({ id: "r1", parentId: "a1", type: "message", role: "toolResult", text: "ok" }));
  await model.idle();
  assert.deepEqual(drawn(model.rows), ["q1*", "r1*"]);
});

test("an answer that comes after another session or filter was asked for is dropped", async () => {
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
    NOW,
  );
  const first = model.load();
  await new Promise(setImmediate);
  const second = model.show("userOnly", "");
  await new Promise(setImmediate);
  waiting[1]!();
  await second;
  waiting[0]!();
  await first;
  assert.deepEqual(drawn(model.rows), ["q1*", "  q2", "  q3*"]);
});

test("what was appended while a page was on its way is there in the end", async () => {
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
    NOW,
  );
  await model.load();
  await model.idle();
  assert.equal(drawn(model.rows).at(-1), "    q4*");
});

test("a load that fails says so, and what was shown stays", async () => {
  const tree = forked();
  let fails = false;
  const model = new TreeModel(
    { sessionId: "s", leafId: tree.leafId },
    { filter: "default", query: "" },
    (params) => (fails ? Promise.reject(new Error("away")) : tree.tree(params)),
    () => undefined,
    NOW,
  );
  await model.load();
  fails = true;
  await model.load();
  assert.deepEqual(model.state, { kind: "failed", message: "away" });
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

test("of a long session only what lies around the leaf is asked for, and more on demand", async () => {
  const tree = long(500);
  const model = await opened(tree, "default", 20);
  assert.deepEqual(tree.asked.map(({ limit }) => limit), [20]);
  assert.equal(model.rows.last?.id, "e499");
  assert.equal(model.rows.before, 489);
  await model.earlier();
  assert.equal(model.rows.first?.id, "e449");
  assert.equal(model.rows.children(null).length, 51);
  assert.equal((await model.reach("e100"))?.id, "e100");
  assert.equal(model.tip(), undefined, "the leaf is not here");
  await model.later();
  assert.equal(model.rows.last?.id, "e149");
  assert.ok(tree.asked.every(({ limit }) => (limit ?? 1000) <= 80));
});

test("a page from the midst hangs on the forks that are above it", async () => {
  const tree = long(100);
  tree.append(user("other", "e50"));
  for (let number = 0; number < 100; number++) {
    tree.append(user(`b${number}`, number === 0 ? "other" : `b${number - 1}`));
  }
  const model = await opened(tree, "default", 20);
  assert.deepEqual(model.rows.children(null), ["e50"]);
  assert.deepEqual(model.rows.children("e50"), ["other"]);
  assert.deepEqual(model.rows.children("other").at(-1), "b99");
  assert.equal(model.tip()?.id, "b99");
  model.appended(tree.append(user("c", "b99")));
  await model.idle();
  assert.equal(model.rows.children("other").at(-1), "c");
});

test("rows that come in for ever are cut to what lies around the leaf", async () => {
  const tree = long(5);
  const model = await opened(tree, "default", 10);
  for (let number = 5; number < 100; number++) {
    model.appended(tree.append(user(`e${number}`, `e${number - 1}`)));
    await model.idle();
  }
  assert.ok(model.rows.size <= 42, String(model.rows.size));
  assert.equal(model.tip()?.id, "e99");
});

/** Something that may happen to a session. */
function happening(tree: FakeTree, chance: (most: number) => number, number: number): FakeEntry[] {
  const ids = tree.entries.map((entry) => entry.id);
  const any = (): string | null => (ids.length === 0 || chance(12) === 0 ? null : ids[chance(ids.length)]!);
  const at = chance(3) > 0 ? tree.leafId : any();
  const id = `n${number}`;
  switch (chance(8)) {
    case 0:
      return [{ id, parentId: tree.leafId, type: "label", targetId: any() ?? "none", label: chance(2) ? "mark" : "" }];
    case 1: {
      const targetId = any();
      return [{ id, parentId: targetId, type: "leaf", targetId }];
    }
    case 2:
      return [{ id, parentId: at, type: "model_change" }];
    case 3:
      return [said(id, at, "")];
    case 4:
      return [user(id, at), said(`${id}x`, id, ""), { id: `${id}y`, parentId: `${id}x`, type: "message", role: "toolResult", text: "r" }];
    default:
      return [user(id, at)];
  }
}

for (const filter of ["default", "noTools", "userOnly", "labeledOnly", "all"] as const) {
  test(`a tree that changed is drawn as one that is read again: ${filter}`, async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const chance = chances(seed);
      const tree = new FakeTree();
      const model = await opened(tree, filter);
      for (let number = 0; number < 20; number++) {
        model.appended(tree.append(...happening(tree, chance, number)));
        if (chance(3) > 0) {
          await model.idle();
          const anew = await opened(tree, filter);
          assert.deepEqual(drawn(model.rows), drawn(anew.rows), `seed ${seed}, step ${number}`);
          assert.equal(model.tip()?.id, anew.tip()?.id, `seed ${seed}, step ${number}`);
          assert.equal(model.shown, anew.shown, `seed ${seed}, step ${number}`);
        }
      }
      model.dispose();
    }
  });
}

test("a stretch is drawn like that stretch of the whole, wherever it lies and however it grew", async () => {
  for (let seed = 1; seed <= 80; seed++) {
    const chance = chances(seed);
    const tree = new FakeTree();
    for (let number = 0; number < 30; number++) {
      tree.append(...happening(tree, chance, number));
    }
    const whole = await opened(tree);
    const model = await opened(tree, "default", 1 + chance(8));
    const ids = tree.entries.map((entry) => entry.id);
    await model.reach(ids[chance(ids.length)]!);
    for (let step = 0; step < 3; step++) {
      await (chance(2) === 0 ? model.earlier() : model.later());
    }
    for (const row of model.rows.loaded()) {
      const here = model.rows.rendered(row.id)!;
      const there = whole.rows.rendered(row.id)!;
      assert.equal(here.under, there.under, `seed ${seed}, ${row.id}`);
      assert.deepEqual(here.children, there.children.filter((child) => model.rows.get(child) !== undefined));
    }
  }
});
