// Recipes for tasks that change items, as tasks that run in
// the daemon; items_recipes.py has the same tasks as a remote worker.
const SITE = "http://127.0.0.1:8077";

export default {
  limits: { global: "1000/s burst 1000", groups: { "rat*": "50/s burst 5" } },
  fetch: { policy: { rate_limit: 0 }, private: ["127.0.0.1:8077"] },
  sessions: {
    shop: {
      async login({ fetch, session }) {
        await fetch(SITE + "/login");
        session.data.who = "demo";
      },
      isExpired: (answer) => answer.status === 403
    }
  },
  tags: {
    discover: ["discover"], found: [],
    fact: ["detail", "notice"],
    chain: ["source", "derive"],
    again: ["again"],
    part: ["detail", "check"],
    unite: ["unite"], follow: ["follow"],
    belated: ["belated"], belated2: ["belated2"],
    slip: ["slip"], count: ["count"], proxy: ["proxy"], page: ["page"],
    rated: ["rated"], member: ["member"]
  },
  tasks: {
    discover: { version: "1", run({ createItem }) {
      for (let i = 0; i < 1000; i++)
        createItem({ id: "found:" + i, tags: ["found"], data: { i } });
    } },
    // Facts about an item; those of the first run are stale once noticed.
    detail: { version: "1", parallel: 1, minInterval: "100ms",
      async run({ data, getMetadata, updateMetadata }) {
        const own = await getMetadata({ taskName: "detail", allowStale: true });
        updateMetadata((old) => ({ price: data.price ?? 1,
            runs: (old.runs ?? 0) + 1, before: own?.runs ?? 0 }));
      } },
    notice: { version: "1", run({ data, expire }) {
      if (data.stale)
        expire({ taskName: "detail" });
    } },
    source: { version: "1", run({ expire, updateMetadata }) {
      updateMetadata((old) => ({ n: (old.n ?? 0) + 1 }));
      expire({ taskName: "derive" });
    } },
    derive: { version: "1", minInterval: "100ms", dependsOn: ["source"],
      async run({ getMetadata, updateMetadata }) {
        const { n } = await getMetadata("source");
        updateMetadata(() => ({ n }));
      } },
    again: { version: "1", minInterval: "1500ms",
      run({ updateMetadata, expire, data }) {
        updateMetadata((old) => ({ n: (old.n ?? 0) + 1 }));
        if (data.again)
          expire();
      } },
    check: { version: "1", run({ data }) {
      if (data.bad)
        throw new Error("a bad part");
    } },
    unite: { version: "1", async run({ data, mergeItem, id, getItem,
        updateData }) {
      const others = await Promise.all(data.others.map((o) => getItem(o)));
      updateData((old) => ({ ...old, names: others.map((o) => o.name) }));
      for (const from of data.others)
        mergeItem({ from, into: id, merge: (into, other) =>
            ({ ...into, sum: (into.sum ?? 0) + other.price }) });
    } },
    follow: { version: "1", async run({ data, id, getItem, updateData,
        deleteItem, createAlias }) {
      for (const other of data.others) {
        const { name } = await getItem(other);
        updateData((old) => ({ ...old, names: [...(old.names ?? []), name] }));
        deleteItem({ id: other });
        createAlias({ from: other });
      }
    } },
    belated: { version: "1", run({ data, id, updateData, deleteItem,
        createAlias }) {
      updateData({ id: data.known, merge: (old) =>
          ({ ...old, seen: data.seen }) });
      deleteItem();
      createAlias({ from: id, to: data.known });
    } },
    belated2: { version: "1", run({ data, mergeItem }) {
      mergeItem({ into: data.known,
          merge: (into, from) => ({ ...into, seen: from.seen }) });
    } },
    slip: { version: "1", run({ data, renameItem, createAlias, deleteAlias,
        deleteItem, updateData, createItem, id }) {
      createItem({ id: "made:" + id, data: {} });
      switch (data.slip) {
      case "rename": renameItem("slip:target"); break;
      case "alias": createAlias({ from: "slip:target", failIfExists: true });
        break;
      case "self": deleteAlias(id); break;
      case "delete": updateData((old) => ({ ...old, n: 1 })); deleteItem();
      }
    } },
    // A script computes again after 8 conflicts at most; then it is a retry.
    count: { version: "1", retries: 100, backoff: "50ms", backoffMax: "200ms",
      run({ updateData }) {
      updateData({ id: "counter", merge: (old) => ({ n: old.n + 1 }) });
      } },
    // An answer about another item; a page that is only on the way to things.
    proxy: { version: "1", run({ data, completeFor }) {
      if (data.answers)
        completeFor({ id: data.answers, metadata: { by: "proxy" } });
    } },
    page: { version: "1", run({ createItem, deleteItem }) {
      createItem({ id: "thing:1", data: {}, createdBy: "home" });
      createItem({ id: "thing:2", data: {} });
      deleteItem();
    } },
    // Of all that apply, the set of two tags is the slowest.
    rated: { version: "1", limits: { rate: "20/s burst 5",
      tags: { rated: "10/s", "rated,site=eu": "5/s" } }, run() {} },
    member: { version: "1", async run({ id, fetch, session, updateMetadata }) {
      const shop = await session("shop");
      const answer = await fetch(SITE + "/members/" + id, { session: shop });
      updateMetadata(() => ({ who: shop.data.who, status: answer.status }));
    } }
  }
};
