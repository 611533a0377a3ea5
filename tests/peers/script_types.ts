/* Every signature of script/argiope.d.ts, used once; and what must not compile. */

async function run(ctx: TaskContext): Promise<void> {
  const { data, id, item, task, attempt } = ctx;
  const known: string = id + task + attempt + item.rev + item.createdAt;
  const one: Obj = await ctx.getItem("a");
  const maybe: Obj | undefined = await ctx.getItem({ id: "a", optional: true });
  const record: Item | undefined = await ctx.getItem({ id: "a", record: true });
  const meta: Obj | undefined = await ctx.getMetadata("t");
  await ctx.getMetadata({ id: "a", taskName: "t", allowStale: true });
  const blob: Uint8Array | undefined = await ctx.getBlob({ id: "a", name: "b" });
  ctx.createItem({ id: "x", data: { a: [1, null, "s", true, { b: 2 }] } });
  ctx.createItem({ data: {}, tags: ["a", { name: "b", value: "c" }], aliases: ["d"],
    failIfExists: true, createdBy: "e" });
  ctx.createItem({ id: "x", update: (old) => ({ ...old, n: 1 }), allowUpsert: true });
  ctx.renameItem("y");
  ctx.renameItem({ from: "x", to: "y" });
  ctx.mergeItem({ into: "z", merge: (into, from) => ({ ...into, ...from }),
    mergeMetadata: { t: (into) => into } });
  ctx.deleteItem();
  ctx.deleteItem({ id: "x" });
  ctx.createAlias({ from: "a", to: "b", failIfExists: false });
  ctx.deleteAlias("a");
  ctx.updateTags({ add: ["t"], remove: ["u"] });
  ctx.updateData((old) => old);
  ctx.updateData({ id: "x", merge: (old) => old });
  ctx.updateMetadata((old) => old);
  ctx.updateMetadata({ id: "x", taskName: "t", merge: (old) => old });
  ctx.expire();
  ctx.expire({ id: "x" });
  ctx.setTTL("30d");
  ctx.setTTL(null);
  ctx.setTTL({ id: "x", ttl: 5 });
  ctx.completeFor({ id: "x", metadata: {}, ttl: null });
  ctx.deleteBlob({ name: "b" });
  ctx.allowFailure();
  ctx.log("info", known);
  await ctx.sleep(5);
  await ctx.waitUntil("2026-01-01T00:00:00Z");
  ctx.createItem({ id: ctx.randomId("p"), data: one });

  const session: Session = await ctx.session("shop");
  const res: Response = await ctx.fetch("http://h/", { method: "POST", headers: { a: "b" },
    json: { a: 1 }, session, auth: { query: "key" }, timeout: "5s", redirect: "manual",
    maxAge: null, accept: [404], stream: false });
  await session.fetch("http://h/", { body: new Uint8Array(2), accept: "any", auth: "basic" });
  session.data.csrf = ctx.secret("s");
  session.invalidate();
  const status: number = res.ok && !res.redirected && !res.fromArchive ? res.status : 0;
  const type: string | null = res.headers.get("content-type");
  const cookies: string[] = res.headers.getAll("set-cookie");
  const number: number | undefined = res.capture?.seq;
  ctx.putBlob({ name: "page", bytes: res, type: "text/html" });
  ctx.putBlob({ name: "text", bytes: new TextEncoder().encode(res.text()) });
  for await (const line of res.lines()) ctx.log("debug", line);
  for await (const event of res.events()) ctx.log(event.event, event.data + event.id);
  parse(res.html(), res.xml());
  globals(res);
  const json: Json = res.json();
  ctx.updateData(() => ({ json, status, type, cookies, number: number ?? null,
    maybe: maybe ?? null, record: record?.id ?? null, meta: meta ?? null,
    blob: blob?.length ?? res.bytes().length, data }));
}

function parse($: Dollar, x: Dollar): void {
  const all: Sel = $("p", $("div")).find("a").not("b").has("c").add("d").parent().parents("e")
    .closest("f").children().contents().siblings().next().prev().first().last();
  const texts: string = all.text() + all.html() + all.outerHtml() + all.val();
  const href: string | undefined = all.attr("href") ?? all.abs("href") ?? all.data("x");
  const n: number = all.length + all.index() + $($("p").get(0)).length;
  const is: boolean = all.is("p") && all.hasClass("c");
  const kept: Sel = all.filter((i, e) => i > 0 && e.tagName === "p").filter("q").eq(0).slice(1, 2);
  all.each((i, e) => { if (i > 2) return false; e.getAttribute("x"); }).remove();
  const names: string[] = all.map((_, e) => e.tagName).get();
  const lengths: number[] = kept.map((i) => i);
  for (const e of all) names.push(e.textContent + e.innerHTML + e.outerHTML);
  const els: El[] = [...all.toArray(), ...all.get(), ...all.get(0).children];
  const one: El | null = els[0].parentElement ?? x.querySelector("a") ?? els[0].querySelector("b");
  const many: El[] = $.querySelectorAll("a").concat(els[0].querySelectorAll("b"));
  const meta: string = $.meta()["og:title"] + $.base + $.root.html();
  const facts: Json[] = [...$.jsonld(), ...$.microdata(), ...$.links()];
  console.log(texts, href, n, is, lengths, one, many, meta, facts);
}

async function globals(res: Response): Promise<void> {
  const u = new URL("?a=b", res.url);
  u.searchParams.append("c", "d");
  for (const [k, v] of new URLSearchParams({ e: "f" })) u.searchParams.set(k, v);
  const sum: ArrayBuffer = await crypto.subtle.digest("SHA-256", res.bytes());
  const mac: Uint8Array = hmac("SHA-256", "key", new Uint8Array(sum));
  const text: string = new TextDecoder("latin1", { fatal: true }).decode(mac) + atob(btoa("x"));
  console.error(structuredClone({ text }).text, URL.canParse(text), URL.parse(text)?.href);
  try {
    throw new FetchError("x");
  } catch (e) {
    if (e instanceof FetchError) console.warn(e.code, e.status, e.response?.url, e.retryAfter);
    if (e instanceof MutationError) console.info(e.op, e.reason);
    throw new TransientError("later", { cause: new PermanentError() ?? new ReplayMiss() });
  }
}

const session: SessionConfig = {
  ttl: "1d",
  async login({ fetch, session, secret, ancestors }) {
    const res = await fetch(ancestors[0].id, { form: { p: secret("shop_password") } });
    session.data.csrf = res.html()("[name=csrf]").val();
  },
  isExpired: (res) => res.url.endsWith("/login"),
};

const connector: Connector = {
  name: "c", version: "1", title: "T", description: "D", image: "https://a.example/i",
  platform: "p", kind: "batch", serves: ["external"], types: ["t"],
  parameters: { type: "object" }, hosts: ["api.example"], credential: { external: "basic" },
  oauth: {}, schema: {}, docIdField: "id", analysis: {},
  async run(ctx) {
    const since: Json | undefined = ctx.state.get("since");
    const user: Json | null = ctx.credential?.user ?? ctx.params.kind ?? null;
    const res = await ctx.fetch(new URL("https://api.example/"), { auth: "bearer" });
    if (res.status === 401) throw new ConfigError("sign in again", { cause: res });
    while (!ctx.stopping && ctx.door === "external") await ctx.sleep(5);
    await ctx.waitUntil(0);
    await ctx.emit({ id: 1, user, since: since ?? null });
    await ctx.emit([{ id: 2 }], "label");
    ctx.state.set("since", ctx.seeds[0]?.token ?? null);
    ctx.count("label");
    ctx.note("warning", "code", "text", "seed");
    ctx.updateSeed("s", { uid: "u", token: 1 });
    ctx.progress("half");
    ctx.log("info", (await ctx.session("s")).name);
  },
  check: (ctx) => ctx.emit([]),
  choices: { kind: (_, { query }) => [{ value: query, label: "L" }, { value: 1 }] },
};

function mustNotCompileConnectors(ctx: ConnectorContext): void {
  // @ts-expect-error tasks alone read items
  ctx.getItem("a");
  // @ts-expect-error the credential is no argument
  ctx.secret("a");
  // @ts-expect-error a function is no document
  void ctx.emit({ id: () => 1 });
  // @ts-expect-error no such level
  ctx.note("loud", "code", "text");
  // @ts-expect-error run() is needed
  const c: Connector = { name: "c", version: 1, title: "T", schema: {}, docIdField: "id" };
  console.log(c);
}

function mustNotCompile(ctx: TaskContext, $: Dollar): void {
  // @ts-expect-error data is read only
  ctx.data = {};
  // @ts-expect-error an item needs data or update
  ctx.createItem({ id: "x" });
  // @ts-expect-error a function is no JSON
  ctx.createItem({ data: { f: () => 1 } });
  // @ts-expect-error upserts need an id
  ctx.createItem({ update: (old) => old, allowUpsert: true });
  // @ts-expect-error there is no such method
  ctx.nothing();
  // @ts-expect-error attr() may be undefined
  const href: string = $("a").attr("href");
  // @ts-expect-error a DataView is not taken
  new TextDecoder().decode(new DataView(new ArrayBuffer(1)));
  // @ts-expect-error no timers
  setTimeout(() => href, 1);
  // @ts-expect-error redirect
  void ctx.fetch("x", { redirect: "error" });
}

export { run, parse, globals, session, connector, mustNotCompileConnectors, mustNotCompile };
