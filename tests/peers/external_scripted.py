"""Connectors that are modules, through a daemon into a back end and as taps of
Singer: the documents of a declared connector of the same API, kills, scripts
that fail or do not end, credentials, addresses, stops, and room in the spool.
"""
import base64
import signal
import socketserver

from external_door_peer import *
from external_peer import PAGE, external, put
from simulated import run_with

run_with(__file__, "target-jsonl==0.1.4", of="external_tap")

CANARY = "canary-9f27c1d4e8"
CREDENTIAL = {"user": "ada", "password": CANARY}


# ---- Modules ----------------------------------------------------------------------

def module(place, name, run, hosts=(), more="", credential="none"):
    """A file with this run(ctx); its documents are of any form."""
    text = f"""export default {{
  name: "{name}", version: "1", title: "T", description: "d",
  serves: ["external"], hosts: {json.dumps(list(hosts))},
  credential: {{ external: "{credential}" }},
  parameters: {{ type: "object", required: ["kind"], properties: {{
    kind: {{ title: "Kind", "x-ui": "string" }},
    most: {{ title: "Most", "x-ui": "integer", minimum: 1 }},
    hidden: {{ title: "Hidden", "x-ui": "password" }} }} }},
  schema: {{ type: "object", required: ["id"] }}, docIdField: "id",
  {more}
  async run(ctx) {{ {run} }}
}};
"""
    return put(os.path.join(place, name + ".js"), text)


def pages(base):
    """Reads the API as its declaration does: page by page, then what is new."""
    return f"""
    const since = ctx.state.get("since") ?? 0;
    let after = ctx.state.get("after") ?? 0, last = since;
    for (;;) {{
      const url = new URL("{base}/" + encodeURIComponent(ctx.params.kind));
      if (since) url.searchParams.set("since", since);
      if (after) url.searchParams.set("after", after);
      const page = (await ctx.fetch(url)).json();
      for (const x of page.items) last = Math.max(last, x.id);
      await ctx.emit(page.items, "things");
      if (page.next === undefined) break;
      ctx.state.set("after", after = Number(page.next));
      ctx.progress("after " + after);
    }}
    ctx.state.set("since", last);
    ctx.state.set("after", null);
    ctx.count("things", 1);
    ctx.updateSeed("x", {{}});
    ctx.note("info", "end", "all is read");"""


def host_of(api):
    return api.base.split("//")[1]


class Plain(Api):
    """Numbers that JavaScript has, too."""

    @staticmethod
    def item(i):
        return {"id": i, "name": f"näme {i}"}


class Echo(Api):
    """Says what it was sent, and moves to another host when asked to."""

    moved_to = None
    heard = ()

    def answer(self, request):
        self.heard = [*self.heard, (request.path, dict(request.headers))]
        if request.path.startswith("/moved"):
            request.send_response(302)
            request.send_header("Location", self.moved_to)
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        self.send(request, 200, {"path": request.path,
                                 "fields": dict(request.headers)})

    def said(self):
        return repr(self.heard)


# ---- Taps -------------------------------------------------------------------------

def records(out):
    return [x["record"] for x in map(json.loads, out.splitlines())
            if x["type"] == "RECORD"]


def load(out, place):
    """What the target has kept; and the state that it says in the end."""
    target = put(place + ".conf", {"destination_path": folder_of(place)})
    took = subprocess.run(
        [sys.executable, "-c", "import target_jsonl; target_jsonl.main()",
         "--config", target], input=out, text=True, capture_output=True,
        timeout=60)
    check(f"{place}: target-jsonl takes it", took.returncode == 0, took.stderr)
    found = []
    for name in sorted(os.listdir(folder_of(place))):
        with open(os.path.join(folder_of(place), name)) as f:
            found += map(json.loads, f)
    return found, put(place + ".state", took.stdout.splitlines()[-1])


def folder_of(name):
    path = os.path.join(PLACE, name)
    os.makedirs(path, exist_ok=True)
    return path


def taps():
    api = Plain()
    place = folder_of("tap-modules")
    files = {"declared": api.connector(name="declared"),
             "module": module(place, "module", pages(api.base),
                              [host_of(api)])}
    config = put("tap-config.json", {"kind": "red"})
    kept = {}
    for name, file in files.items():
        code, out, err = external("tap", file, "--config", config)
        same(f"{name}: a run", (code, records(out)), (0, api.items))
        kept[name], state = load(out, "kept-" + name)
        api.forget()
        api.items += [api.item(i) for i in range(46, 60)]
        code, out, err = external("tap", file, "--config", config, "--state",
                                  state)
        same(f"{name}: the second run has what is new",
             (code, [x["id"] for x in records(out)]), (0, [*range(46, 60)]))
        check(f"{name}: and asks for that", all(
            int(x["since"]) >= 45 for x in api.asked), api.asked)
        kept[name], state = load(out, "kept-" + name)
        api.items = api.items[:45]
    same("both have kept the same", kept["module"], kept["declared"])
    same("and all of it", [x["id"] for x in kept["module"]], [*range(1, 60)])
    code, out, err = external("tap", files["module"], "--discover")
    same("a catalog of one stream", (code, [
        x["tap_stream_id"] for x in json.loads(out)["streams"]]),
        (0, ["module"]))
    code, out, err = external("check", files["module"], "--params",
                              put("p.json", {"kind": "a"}), "--max", "15")
    same("check prints documents", (code, [json.loads(x)["id"] for x in
                                           out.splitlines()]),
         (0, [*range(1, 16)]))
    check("and requests", f"GET {api.base}/a: 200" in err, err)


# ---- What is wrong with a module ---------------------------------------------------

def bad_modules():
    place = folder_of("bad")
    good = "await 0"
    for name, text, word in (
            ("no object", "export default 1;", "no object"),
            ("a syntax error", "export default {", "SyntaxError"),
            ("an exception", "throw new Error('early')", "early"),
            ("no end", "for (;;);", "more than"),
            ("memory", "let a = []; for (;;) a.push('x'.repeat(1e6) + "
             "a.length);", "memory"),
            ("an import from elsewhere", "import x from 'fs'; export default "
             "{};", "fs"),
            ("no run", "export default { name: 'a', version: 1, title: 't', "
             "schema: {}, docIdField: 'id' };", "run: ")):
        code, out, err = external("check", put("bad/one.js", text))
        check(f"{name} is told with the file", code == 65 and "one.js" in err
              and word in err, (code, err))
    for name, change, word in (
            ("a member", "extra: 1,", "extra"),
            ("api", "api: {},", "api"),
            ("hosts", "hosts: ['a b'],", "hosts: "),
            ("hosts", "hosts: ['{instance}'],", "hosts: "),
            ("kind", "kind: 'x',", "kind: "),
            ("serves", "serves: ['harvest'],", "serves: "),
            ("choices", "choices: { kind: 1 },", "choices.kind: "),
            ("choices", "choices: { other() {} },", "choices.other: "),
            ("check", "check: 1,", "check: "),
            ("analysis", "analysis: [],", "analysis: "),
            ("docIdField", "docIdField: 1,", "docIdField: "),
            ("a credential without hosts", "hosts: [], credential: 'basic',",
             "hosts: ")):
        file = module(place, "two", good, more=change)
        code, out, err = external("check", file)
        check(f"{name} is told with its place", code == 65 and "two.js: " +
              word.strip(": ") in err.replace(
                  "it has a member that is not known: ", ""), (code, err))
    log = os.path.join(PLACE, "bad-serve.log")
    with open(log, "w") as f:
        code = subprocess.run(
            [program(), "serve", "--data", os.path.join(PLACE, "bad-data"),
             "--set", "external.connectors=" + place, "--set",
             f"http.listen=127.0.0.1:{free_port()}", "--set",
             "urlfrontier.listen="], stdout=f, stderr=f,
            timeout=60).returncode
    with open(log) as f:
        said = f.read()
    check("a daemon does not start with one", code != 0 and
          "external.connectors" in said and ".js: " in said, said)


# ---- Into a back end ----------------------------------------------------------------

def equal_documents(api):
    place = connectors("equal-connectors", api.connector(name="declared"))
    module(place, "module", pages(api.base), [host_of(api)])
    s, b = External("equal", place), Back()
    for name in ("declared", "module"):
        s.task(name, b.endpoint(name), {"kind": "a"}, connector=name)
        same(f"{name}: ends well", s.ends(name, connector=name), "done")
        same(f"{name}: by 200 once", b.codes(name)[-1], 200)
    same("equal documents", b.stored["module"], b.stored["declared"])
    same("all of them", b.ids("module"), [*range(1, 46)])
    log = s.ask("GET", "/external/module/task/module/log")[1]
    check("its note is in the log", "end: all is read" in json.dumps(log), log)
    o = s.ask("GET", "/external/module/object")[1]["payload"]
    same("the object has its parameters", [p["name"] for p in o["parameters"]],
         ["kind", "most", "hidden"])
    # With `crawler` the next task goes on from the state.
    for fid in ("first", "second"):
        s.task(fid, b.endpoint(fid), {"kind": "a"}, connector="module",
               crawler="c1")
        same(f"{fid} task of a crawler", s.ends(fid, connector="module"),
             "done")
    same("the second has nothing new", (b.ids("first"), b.ids("second")),
         ([*range(1, 46)], []))
    # A changed file is read at SIGHUP; a broken one is not.
    module(place, "module", "await ctx.emit({id: 'new'})")
    s.child.send_signal(signal.SIGHUP)
    wait_until(lambda: "info external.connectors" in s.said())
    s.task("fresh", b.endpoint("fresh"), {"kind": "a"}, connector="module")
    same("a file that has changed", (s.ends("fresh", connector="module"),
                                     b.ids("fresh")), ("done", ["new"]))
    put(os.path.join(place, "module.js"), "export default {")
    s.child.send_signal(signal.SIGHUP)
    wait_until(lambda: "SyntaxError" in s.said())
    s.task("old", b.endpoint("old"), {"kind": "a"}, connector="module")
    same("a file that is broken", (s.ends("old", connector="module"),
                                   b.ids("old")), ("done", ["new"]))
    s.stop()


def kills(api):
    place = connectors("killed-connectors", api.connector())
    module(place, "module", pages(api.base), [host_of(api)])
    api.forget()
    api.delay_s = 0.3
    s, b = External("killed", place), Back()
    s.task("k1", b.endpoint("k1"), {"kind": "a"}, connector="module")
    # The cursor is past the first page.
    wait_until(lambda: ((s.look("k1", connector="module").get("cursor") or {})
                        .get("state") or {}).get("after", 0) >= 2 * PAGE)
    s.kill()
    asked = len(api.asked)
    s.start()
    same("a killed task ends well", s.ends("k1", connector="module"), "done")
    same("none is lost", b.ids("k1"), [*range(1, 46)])
    check("it went on from its state", "after" in api.asked[asked],
          api.asked[asked:])
    same("no key had two contents", b.contradicted, 0)
    api.delay_s = 0
    s.stop()


def failures(api):
    place = connectors("failing-connectors", api.connector())
    slow = Api()
    slow.delay_s = 9
    emits = "await ctx.emit([{id: 1}, {id: 2}]);"
    rows = (
        ("error", emits + "throw new Error('a bug')", 500, "system: ",
         "a bug"),
        ("refused", emits + "throw new ConfigError('no such kind')", 500,
         "config: ", "no such kind"),
        ("later", emits + "throw new TransientError('come back')", 500,
         "transient: ", "come back"),
        ("permanent", "throw new PermanentError('never')", 500, "system: ",
         "never"),
        ("server", f"await ctx.fetch('{slow.base}/x', {{timeout: 500}})", 500,
         "transient: ", "FetchError"),
        ("loop", emits + "for (;;);", 500, "system: ", "limit_cpu"),
        ("memory", emits + "let a = []; for (;;) a.push(new "
         "Uint8Array(1e6));", 500, "system: ", "limit_memory"),
        ("endless", emits + "await new Promise(() => {})", 500, "system: ",
         "nothing left to wait for"),
        ("unawaited", "ctx.emit({id: 1})", 500, "system: ", "await"),
        ("late", emits + f"await ctx.fetch('{slow.base}/x')", 408, "system: ",
         "limit_wall"),
        ("cycle", "let a = {}; a.a = a; await ctx.emit(a)", 500, "system: ",
         "TypeError"),
        ("odd", "await ctx.emit('text'); await ctx.emit({id: 3})", 200, None,
         None),
        ("fine", emits, 200, None, None))
    for name, run, *_ in rows:
        module(place, name, run, [host_of(slow)])
    s = External("failing", place, "script.connector_cpu_ms_max=500ms",
                 "script.connector_wall_ms_max=6s")
    b = Back()
    pid = s.child.pid
    for name, run, code, begins, text in rows:
        s.task(name, b.endpoint(name), {"kind": "a"}, connector=name)
    for name, run, code, begins, text in rows:
        s.ends(name, 60, connector=name)
        status = b.of(STATUSES, name)[-1].status
        detail = status["detail"]
        check(f"{name}: {code}, {begins or 'no detail'}", status["code"] ==
              code and (detail is None if begins is None else
                        detail.startswith(begins) and text in detail), status)
        if run.startswith(emits):
            same(f"{name}: what came before is delivered", b.ids(name), [1, 2])
    same("a document that is no object is rejected",
         (s.look("odd", connector="odd")["rejected"], b.ids("odd")), (1, [3]))
    check("the daemon lives", s.runs() and s.child.pid == pid)
    s.stop()


# ---- Secrets and addresses ------------------------------------------------------------

DUMP = """
    const seen = new Set(), found = [];
    const walk = (v, path, depth) => {
      if (typeof v === "string") { found.push(path + "=" + v); return; }
      if (v === null || (typeof v !== "object" && typeof v !== "function") ||
          seen.has(v) || depth > 8)
        return;
      seen.add(v);
      if (typeof v === "function")
        found.push(path + "=" + Function.prototype.toString.call(v));
      for (let at = v; at; at = Object.getPrototypeOf(at))
        for (const key of Reflect.ownKeys(at)) {
          let x;
          try { x = v[key]; } catch { continue; }
          walk(x, path + "." + String(key), depth + 1);
        }
    };
    walk(ctx, "ctx", 0);
    walk(globalThis, "globalThis", 0);
"""


def secrets():
    api, other = Echo(), Echo()
    api.moved_to = other.base + "/from-api"
    place = connectors("secrets-connectors", Api().connector())
    fetches = f"""
    const ask = async (name, url, o) => {{
      try {{
        const r = await ctx.fetch(url, {{accept: "any", ...o}});
        walk([r.text(), r.url, r.headers.getAll("x-echo")], name, 0);
        await ctx.emit({{id: name, status: r.status}});
      }} catch (e) {{
        walk([e.message, e.stack, e], name, 0);
        await ctx.emit({{id: name, code: String(e.code)}});
      }}
    }};
    const p = "{{{{credential.password}}}}", api = "{api.base}",
      other = "{other.base}";
    await ask("basic", api + "/basic", {{auth: "basic"}});
    await ask("bearer", api + "/bearer", {{auth: "bearer"}});
    await ask("query", api + "/query?a=1", {{auth: {{query: "key"}}}});
    await ask("url", api + "/u/" + p);
    await ask("header", api + "/h", {{headers: {{"X-Key": p}}}});
    await ask("body", api + "/b", {{method: "GET", headers: {{"X-P":
      ctx.params.hidden}}}});
    await ask("moved", api + "/moved", {{auth: "basic"}});
    await ask("to other", other + "/basic", {{auth: "basic"}});
    await ask("to other url", other + "/u?" + p);
    await ask("to other header", other + "/h", {{headers: {{"X-Key": p}}}});
    await ask("oauth1", api + "/o", {{auth: "oauth1"}});
    await ask("metadata", "http://169.254.169.254/latest/meta-data");
    await ask("file", "file:///etc/passwd");
    await ask("host", api + "/x", {{headers: {{Host: "a.example"}}}});
    """
    end = """
    for (const [i, text] of found.entries())
      await ctx.emit({id: "f" + i, text});
    ctx.log("info", found.join(" ").slice(0, 8000));
    ctx.note("info", "dump", JSON.stringify(ctx.credential));
    throw new Error(found.filter(x => x.startsWith("ctx")).join(" "));
    """
    module(place, "canary", DUMP + fetches + end, [host_of(api)],
           credential="basic")
    moving = f"""const r = await ctx.fetch("{api.base}/moved", {{auth: "basic",
      headers: {{"X-Key": "{{{{credential.password}}}}"}}}});
      await ctx.emit({{id: r.url}});"""
    module(place, "moving", moving, [host_of(api), host_of(other)],
           credential="basic")
    closed = Api()
    module(place, "closed", f"await ctx.fetch('{closed.base}/x')")
    s, b = External("secrets", place, "log.level=debug"), Back()
    s.task("c1", b.endpoint("c1"), {"kind": "a", "hidden": CANARY + "-param"},
           connector="canary", credential=CREDENTIAL)
    s.ends("c1", connector="canary")
    got = {d["id"]: d for d in b.stored["c1"].values()}
    basic = base64.b64encode(f"ada:{CANARY}".encode()).decode()
    for name in ("basic", "bearer", "query", "url", "header", "body"):
        same(f"{name}: is asked", got[name].get("status"), 200)
    for word in (f"Basic {basic}", f"Bearer {CANARY}", f"key={CANARY}",
                 f"/u/{CANARY}", CANARY + "-param"):
        check(f"the API hears {word[:12]}", word in api.said(), api.said())
    for name in ("to other", "to other url", "to other header"):
        same(f"{name}: is refused", got[name].get("code"), "denied")
    same("so is a redirect to it", got["moved"].get("code"), "denied")
    same("nothing has reached it", other.heard, ())
    same("what is refused by its form", [got[x].get("code") for x in (
        "oauth1", "file", "host")], ["input"] * 3)
    check("a metadata service is refused", got["metadata"].get("code") ==
          "denied", got["metadata"])
    check("the script has looked at much", len(got) > 300, len(got))
    texts = json.dumps(list(got.values()))
    check("and has seen the user", "ctx.credential.user=ada" in texts)
    hidden = [CANARY, basic, CANARY[::-1]]
    log = json.dumps(s.ask("GET", "/external/canary/task/c1/log")[1])
    statuses = b"".join(c.body for c in b.of(STATUSES)).decode()
    with open(s.log, errors="replace") as f:
        said = f.read()
    for name, text in (("documents", texts), ("the task's log", log),
                       ("statuses", statuses), ("the daemon's log", said)):
        same(f"no secret in {name}", [x for x in hidden if x in text], [])
    check("the echo is cut", "REDACTED" in texts)
    s.task("c2", b.endpoint("c2"), {"kind": "a"}, connector="closed")
    s.ends("c2", connector="closed")
    status = b.of(STATUSES, "c2")[-1].status
    s.task("c4", b.endpoint("c4"), {"kind": "a"}, connector="moving",
           credential=CREDENTIAL)
    same("a redirect to another host of its own is followed",
         (s.ends("c4", connector="moving"), b.ids("c4")),
         ("done", [other.base + "/from-api"]))
    check("without the signature", other.heard and "Authorization" not in
          other.heard[0][1], other.heard)
    check("a loopback address that no module lists is refused",
          status["code"] == 500 and not closed.asked, status)
    code, said = s.ask("POST", "/external/canary/task", {
        "fid": "c3", "endpoint": b.endpoint("c3"), "params": {"kind": "a"}})
    check("without a credential there is no task", code == 400 and
          "credential" in json.dumps(said), said)
    s.stop()
    hits = []
    for path, _, names in os.walk(os.path.join(PLACE, "secrets")):
        for name in names:
            with open(os.path.join(path, name), "rb") as f:
                data = f.read()
            hits += [name for x in hidden if x.encode() in data]
    same("no secret in the data directory", hits, [])


# ---- Checks, stops, room -----------------------------------------------------------

def checks(api):
    place = connectors("checks-connectors", api.connector())
    run = "await 0"
    module(place, "without", run)
    module(place, "good", run, [host_of(api)], f"""
    async check(ctx) {{ const r = await ctx.fetch("{api.base}/x");
      await ctx.emit(r.json().items.slice(0, 2)); }},""")
    module(place, "bad", run, more="""
    check(ctx) { throw new ConfigError("wrong " + ctx.params.kind); },""")
    module(place, "choosing", run, [host_of(api)], f"""
    choices: {{
      async kind(ctx, {{query}}) {{
        const all = (await ctx.fetch("{api.base}/x")).json().items;
        return all.filter(x => x.name.includes(query)).map(
          x => ({{value: String(x.id), label: x.name}}));
      }},
      most(_, {{query}}) {{
        return Array.from({{length: query || 1}}, (_, i) => ({{value: i + 1}}));
      }},
      hidden() {{ throw new ConfigError("not you"); }} }},""")
    s = External("checks", place)

    def checked(name, **params):
        said = s.ask("POST", f"/external/{name}/check",
                     {"params": params})[1]["payload"]
        return said["ok"], {x["name"]: x for x in said["checks"]}

    ok, found = checked("without", kind="a")
    same("without check()", (ok, sorted(found)), (True, [
        "credential", "parameters"]))
    ok, found = checked("good", kind="a")
    same("a check that passes", (ok, found["documents"]["message"]),
         (True, "2 documents"))
    ok, found = checked("good")
    same("parameters come first", (ok, found["parameters"]["ok"]),
         (False, False))
    ok, found = checked("bad", kind="red")
    check("a check that fails", not ok and "config: " in
          found["source"]["message"] and "wrong red" in
          found["source"]["message"], found)
    def choices(name, query="", **more):
        code, said = s.ask("POST", "/external/choosing/choices", {
            "name": name, "query": query, "params": {"most": "x"}, **more})
        return code, said.get("payload") or said["messages"][0]

    same("choices", choices("kind", "9"), (200, {"options": [
        {"value": "9", "label": "näme 9"}]}))
    same("a choice has its value as label", choices("most"), (200, {
        "options": [{"value": "1", "label": "1"}]}))
    for n in (1000, 1001):
        said = choices("most", str(n))[1]
        same(f"of {n} choices 1,000 are there, and it is said",
             (len(said["options"]), said.get("more", False)),
             (1000, n > 1000))
    form = s.ask("GET", "/external/choosing/form")[1]["payload"]
    same("the form says which have choices", [
        name for name, p in form["parameters"]["properties"].items()
        if p.get("x-choices")], ["kind", "most", "hidden"])
    same("choices that fail", choices("hidden")[0], 400)
    check("say who must act", choices("hidden")[1].startswith(
        "config: ConfigError: not you"), choices("hidden"))
    same("no such choices", choices("nothing")[0], 404)
    same("no name", choices(""), (400, "name: it is missing"))
    same("a long query", choices("kind", "x" * 1025)[0], 400)
    same("a connector without choices", s.ask(
        "POST", "/external/good/choices", {"name": "kind"})[0], 404)
    same("a declared one", s.ask(
        "POST", "/external/things/choices", {"name": "kind"})[0], 404)
    s.stop()


def stops(api):
    place = connectors("stops-connectors", api.connector())
    module(place, "polite", """
    while (!ctx.stopping) { await ctx.emit({id: ctx.params.kind});
      await ctx.sleep(3600000); }
    ctx.note("info", "told", "it is to end");""")
    module(place, "stubborn", "for (;;) await ctx.sleep(100);")
    s, b = External("stops", place), Back()
    for name in ("polite", "stubborn"):
        s.task(name, b.endpoint(name), {"kind": name}, connector=name)
    wait_until(lambda: b.ids("polite") == ["polite"])
    processes = lambda: s.metric("argiope_script_processes")
    same("each has a process", processes(), 2)
    for name in ("polite", "stubborn"):
        code, said = s.ask("PATCH", f"/external/{name}/task/{name}/status",
                           {"code": 408, "message": "enough"})
        same(f"{name} is closed", code, 200)
    began = time.monotonic()
    wait_until(lambda: processes() == 1, 5)
    check("the polite one ends at once", time.monotonic() - began < 4)
    wait_until(lambda: processes() == 0, 25)
    took = time.monotonic() - began
    check("the stubborn one after 15 s", 13 < took < 20, took)
    same("and nothing more is sent", b.codes("stubborn"), [102])
    # At the end of the program none is waited for.
    s.task("last", b.endpoint("last"), {"kind": "a"}, connector="stubborn")
    wait_until(lambda: processes() == 1)
    began = time.monotonic()
    same("the daemon ends", s.stop(), 0)
    check("without waiting for it", time.monotonic() - began < 8)


def room(api):
    refuses = [True]
    b = Back(lambda call, n: (503, {"Retry-After": "1"}, None)
             if refuses[0] and call.kind == UPLOADS else None)
    place = connectors("room-connectors", api.connector())
    module(place, "much", """
    const text = "x".repeat(10000);
    for (let i = 1; i <= 200; i++) {
      await ctx.emit({id: i, text});
      ctx.progress("emitted " + i);
      ctx.state.set("i", i);
    }""")
    s = External("room", place, "external.spool_bytes_max=1MiB")
    s.task("m1", b.endpoint("m1"), {"kind": "a"}, connector="much")
    look = lambda: s.look("m1", connector="much")
    wait_until(lambda: look()["waiting"] == "room in the spool", 30)
    time.sleep(1)
    held = look()["spooled"]
    check("emit() waits for room: a quarter of the spool", 20 <= held <= 30,
          held)
    refuses[0] = False
    same("the task ends when there is room", s.ends("m1", 60,
         connector="much"), "done")
    same("with all documents", b.ids("m1"), [*range(1, 201)])
    same("each once", b.repeated, 0)
    s.stop()


taps()
bad_modules()
plain = Plain()
equal_documents(plain)
kills(plain)
failures(plain)
secrets()
checks(plain)
stops(plain)
room(plain)
done()
