"""Harvests of Jetstream against the simulator where it does not go well:
connections that end, in all ways, at the same time; cursors that are too old;
many accounts; a run that continues where the last one has ended.  What is
archived is what the simulator has sent."""
import collections
import csv
import glob
import io
import re
import signal

from peer import *
from simulated import Platforms

sim = Platforms("--items", "100", name="jetstream")
V1, V2 = HOSTS = ("jetstream2.us-east.bsky.network",
                  "jetstream.us-east.bsky.network")
POST = "app.bsky.feed.post"
LED = ",".join(f"{h}:443:127.0.0.1:{sim.port}" for h in HOSTS)


def words(place, *more):
    return [program(), "harvest", "run", *more, "--into", place + "/posts",
            "--data", place + "/data", "--set", "fetch.resolve=" + LED,
            "--set", "fetch.ca_file=" + sim.ca, "--json"]


def begin(place, *more):
    return start(words(place, "bluesky_jetstream", *more),
                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(child, how=signal.SIGINT):
    if how is not None:
        child.send_signal(how)
    out, err = child.communicate(timeout=60)
    return child.returncode, json.loads(out) if out.strip() else {}, err


def posts():
    return [f"at://{e['did']}/{POST}/{e['rkey']}"
            for e in sim.world(V1)["events"]
            if e["collection"] == POST and not e["deleted"]]


def add(n):
    """Their addresses."""
    before = set(posts())
    sim.own("change", {"host": V1, "add": {"account": "ada.example", "n": n}})
    return [p for p in posts() if p not in before]


def asked(text):
    """How many streams whose query has that were asked for."""
    return sum(text in x["query"] for x in sim.log())


def address(frame):
    frame = frame.get("payload", frame)
    return f"at://{frame['did']}/{POST}/{frame.get('commit', frame)['rkey']}"


def warcs(place):
    return sorted(glob.glob(place + "/posts/20*/**/*.warc.gz",
                            recursive=True))


def archived(place):
    """Of each post, how often it came."""
    shutil.rmtree(place + "/json", ignore_errors=True)
    code, out, err = ours("archive", "export", "json_full", "--honour-deletes",
                          "no", place + "/posts", "--into", place + "/json")
    check(f"{place}: exported", code == 0, out + err)
    found = collections.Counter()
    for path in sorted(glob.glob(place + "/json/*.*")):
        with open(path, encoding="utf-8") as f:
            found.update(address(json.loads(line)) for line in f)
    return found


def is_sound(place):
    code, out, err = ours("archive", "check", "--strict", place + "/posts")
    check(f"{place}: archive check", code == 0, out[-400:] + err)


def state(place):
    with open(place + "/posts/state.json") as f:
        return json.load(f)["__main__"]


# ---- Connections that end, each in its own way, all at the same time --------

FAULTS = {
    "normal": [{"ws": "close", "code": 1000, "after": 3}],
    "going": [{"ws": "close", "code": 1001, "after": 3}],
    "cut": [{"ws": "close", "code": 1006, "after": 3}],
    "policy": [{"ws": "close", "code": 1008, "after": 3}],
    "later": [{"ws": "close", "code": 1013, "after": 3},
              {"ws": "close", "code": 1013, "after": 0}],
    "split": [{"ws": "split"}],
    "replay": [{"ws": "replay", "after": 4}],
    "unanswered": [{"ws": "unanswered"}],
    "midframe": [{"cut": 1500}, {"cut": 900}],
    "failing": [{"ws": "close", "code": 1006, "after": 2}, {"status": 503},
                {"close": "before"}, {"close": "head"}],
}
TOO_OLD = [{"ws": "close", "code": 1006, "after": 2},
           {"ws": "CursorTooOld"}]


def mark(name, protocol):
    return f"org.example.{name}{protocol}"


plan, runs = [], {}
for protocol in ("v1", "v2"):
    for name, faults in {**FAULTS, **({"old": TOO_OLD} if protocol == "v2"
                                      else {})}.items():
        runs[f"{name}_{protocol}"] = mark(name, protocol)
        plan += [{"match": {"query": mark(name, protocol), "nth": n},
                  "fault": f} for n, f in enumerate(faults, 1)]
sim.faults(*plan)
children = {}
for place, marked in runs.items():
    seed = json.dumps({"collections": [POST, marked]})
    children[place] = begin(place, "--seed", seed, "--option",
                            "protocol=" + place[-2:])
check("all streams have begun", wait_until(
    lambda: all(asked(m) for m in runs.values()), 60),
    [p for p, m in runs.items() if not asked(m)])
time.sleep(1)
wanted = add(10)
again = {p: m for p, m in runs.items()
         if not re.match("split|replay|unanswered", p)}
check("those that ended were asked for again", wait_until(
    lambda: all(asked(m) > 1 for m in again.values()), 30),
    [p for p, m in again.items() if asked(m) < 2])
wanted += add(10)
time.sleep(8)
for child in children.values():
    child.send_signal(signal.SIGINT)
for place, child in children.items():
    code, out, err = end(child, None)
    got = archived(place)
    missing = [p for p in wanted if p not in got]
    check(f"{place}: no post is missing", code == 75 and not missing,
          (code, missing, err[-300:]))
    same(f"{place}: each counts once", out.get("items"), len(got))
    is_sound(place)
sim.faults()

# ---- Many accounts: what is sent is archived, too ----------------------------

did = next(e["did"] for e in sim.world(V1)["events"]
           if wanted[0].startswith(f"at://{e['did']}/"))
dids = [did] + [f"did:plc:{n:024d}".replace("0", "a").replace("1", "b")
                .replace("8", "c").replace("9", "d") for n in range(600)]
child = begin("many", "--seed", json.dumps({"dids": sorted(set(dids))}))
check("many accounts are asked for by a message", wait_until(
    lambda: asked("requireHello") == 1, 20))
time.sleep(1)
wanted = add(5)
time.sleep(1)
code, out, err = end(child)
same("... and their posts come", archived("many"), collections.Counter(wanted))
is_sound("many")
code, lines, err = ours("archive", "ls", "--all", *warcs("many"))
for kind, n in (("response", 1), ("request", 1), ("resource", 1),
                ("metadata", 1)):
    same(f"... in so many records of the type {kind}",
         len(re.findall(rf"\b{kind}\b", lines)), n)

# ---- A run that continues ------------------------------------------------------

for host, protocol in ((V1, "v1"), (V2, "v2")):
    place, key = "next_" + protocol, f"jetstream.{host}.cursor"
    more = ("--option", "incremental=true", "--option", "protocol=" + protocol)
    streams = len(sim.log())
    child = begin(place, *more)
    check(f"{place}: it has begun", wait_until(
        lambda: len(sim.log()) > streams, 20))
    time.sleep(1)
    wanted = add(4)
    time.sleep(1)
    code, out, err = end(child)
    same(f"{place}: its posts", out.get("items"), len(wanted))
    first = int(state(place)[key])
    # While nobody listens.
    wanted += add(6)
    streams = len(sim.log())
    child = begin(place, *more)
    check(f"{place}: the next one has begun", wait_until(
        lambda: len(sim.log()) > streams, 20))
    time.sleep(1)
    code, out, err = end(child)
    got = archived(place)
    same(f"{place}: the next run has what came in between",
         [p for p in wanted if p not in got], [])
    check(f"{place}: the state moves on", int(state(place)[key]) > first)
    is_sound(place)

# ---- A cursor that is too old -------------------------------------------------

for host, protocol, old in (
        (V1, "v1", str(int((time.time() - 40 * 3600) * 1e6))),
        (V2, "v2", "1")):
    place = "gap_" + protocol
    os.makedirs(place + "/posts")
    with open(place + "/posts/state.json", "w") as f:
        json.dump({"__main__": {f"jetstream.{host}.cursor": old}}, f)
    streams = len(sim.log())
    child = begin(place, "--option", "incremental=true", "--option",
                  "protocol=" + protocol)
    check(f"{place}: it has begun", wait_until(
        lambda: len(sim.log()) > streams, 20))
    time.sleep(3)
    code, out, err = end(child)
    check(f"{place}: it is told", code == 75 and
          "stream_gap" in json.dumps(out) + err, (code, out, err))

# ---- Addresses ------------------------------------------------------------------

for host in ("localhost", "127.0.0.1", "10.1.2.3"):
    code, out, err = ours(*words("private", "bluesky_jetstream", "--option",
                                 f"endpoint={host}:{sim.port}")[1:])
    check(f"{host} may not be asked", code == 69 and "may not be asked" in
          out + err, (code, out, err))
    shutil.rmtree("private")

unknown = {(x["host"], x["path"]) for x in sim.log() if not x["known"]}
same("nothing was asked that the simulator does not know", unknown, set())

# ---- Made again, and read by others -------------------------------------------

every = [w for place in runs for w in warcs(place)] + warcs("many")
shutil.copytree(os.path.dirname(warcs("many")[0]), "again")
code, out, err = ours("archive", "reindex", "--rebuild", "--data", "again/data",
                      "again")
check("a lost data directory is made again: handshake and messages are its "
      "captures", code == 0 and re.search(r"\b2 captures", out), out + err)
code, out, err = ours("archive", "export", "csv", "many/posts")
same("a line of CSV for each post", (code, len(list(csv.reader(
    io.StringIO(out, newline="")))) - 1), (0, sum(archived("many").values())))
python = python_with("warcio", "warcio==1.7.5", "cdxj-indexer==1.5.0",
                     "setuptools<80")
if python is None:
    skip("warcio", "it cannot be installed from the package index")
else:
    code, out, err = run(python, "-m", "warcio.cli", "check", *every)
    check("warcio check", code == 0 and every, (out + err)[-500:])
python = python_with("fastwarc", "fastwarc==2.0.1", "click")
if python is None:
    skip("FastWARC", "it cannot be installed from the package index")
else:
    verdicts = []
    for w in every:
        run(python, "-c", "from fastwarc.cli import main; main()", "check",
            "-q", "-p", "-o", "fast.out", w)
        verdicts += open("fast.out").read().splitlines()
    code, lines, err = ours("archive", "ls", "--all", "--json", *every)
    same("FastWARC sees every record", len(verdicts), len(lines.splitlines()))
    failed = [v for v in verdicts if not v.endswith(
        (": OK, PAYLOAD_OK", ": OK, PAYLOAD_NO_DIGEST"))]
    # It looks for an HTTP head in resources, whose whole block is payload.
    resources = sum(json.loads(line)["type"] == "resource"
                    for line in lines.splitlines())
    check("... and finds all digests right, but for resources' payloads",
          len(failed) == resources > 0 and
          all(v.endswith(": OK, PAYLOAD_FAIL") for v in failed), failed[:3])
done()
