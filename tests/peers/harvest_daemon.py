"""Harvests that a daemon does without a broker, against the simulator: begun by
`harvest run` and by commands of the realtime door, stopped, paused and resumed,
gone on with after an end in order and after a kill; and the commands of
docs/harvest.md.
"""
import csv
import glob
import re
import signal

from serve import *
from simulated import Platforms

sim = Platforms("--items", "200")
OPEN, PRIVATE, WEIBO = HOSTS = ("mastodon.example", "private.example",
                                "api.weibo.com")
LED = ["fetch.resolve=" + ",".join(f"{h}:443:127.0.0.1:{sim.port}"
                                   for h in HOSTS),
       "fetch.ca_file=" + sim.ca]


class Daemon(Serve):
    door = "urlfrontier.listen=off",

    def ask(self, command, token=None, **args):
        """The answer to one command; its data, or its code and text."""
        fields = {"Authorization": "Bearer " + token} if token else {}
        body = json.dumps({"command": command, "command_id": 1, "args": args})
        status, _, text = self.http("/realtime/command", "POST", {
            "Content-Type": "application/json", **fields}, body.encode())
        answer = json.loads(text)
        return answer["data"] if answer.get("success") else (
            answer.get("code"), answer.get("error"))

    def state(self, name, token=None):
        return self.ask("harvest.get", token, id=name)["state"]

    def comes_to(self, name, state, seconds=30, token=None):
        return wait_until(lambda: self.state(name, token) == state, seconds)


def put(name, what):
    path = os.path.join(PLACE, name + ".json")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
              "w") as f:
        json.dump(what, f)
    return path


def posts(host, *names):
    return [p for a in sim.world(host)["accounts"] if a["name"] in names
            for p in a["posts"]]


def exported(into, name):
    """Ids of the posts in its files."""
    shutil.rmtree(name, ignore_errors=True)
    code, out, err = ours("archive", "export", "json_full", "--honour-deletes",
                          "no", into, "--into", name)
    # A stream's body has no end of its own.
    check(f"{name}: exported", code in (0, 70), out + err)
    found = []
    for path in sorted(glob.glob(name + "/*.*")):
        with open(path, encoding="utf-8") as f:
            found += [json.loads(line)["id"] for line in f]
    return found


def harvest(*words, data="data", code=0):
    got, out, err = ours("harvest", *words, "--data", data)
    if got != code:
        check(f"harvest {' '.join(words[:2])}: exit code {code}", False,
              f"{got}: {out} {err}")
    return out + err


s = Daemon("data", LED)
OPEN_KEYS = put("open", {"instance": "https://" + OPEN})
STREAM_KEYS = put("stream", {"instance": "https://" + PRIVATE, "access_token":
                             sim.world(PRIVATE)["tokens"]["user"]})


# ---- `harvest run` where a daemon has the data directory ------------------------------

ACCOUNTS = [w for n in ("ada", "bob") for w in ("--seed", n)]
out = json.loads(harvest("run", "mastodon_account", *ACCOUNTS,
                         "--credentials-file", OPEN_KEYS, "--into", "whole",
                         "--json"))
wanted = len(posts(OPEN, "ada", "bob"))
same("run: by the daemon, its items", (out["state"], out["items"]),
     ("completed success", wanted))
same("run: they are in its files", len(exported("whole", "whole-json")),
     wanted)
same("run: its credential is not kept", s.ask("credential.list"),
     {"credentials": []})
check("run: the daemon's log has no secret", "access_token" not in s.said())
sim.own("change", {"host": OPEN, "add": {"account": "ada", "n": 15}})
out = harvest("run", "mastodon_account", *ACCOUNTS, "--credentials-file",
              OPEN_KEYS, "--option", "incremental=true", "--into", "whole")
check("run again: only what is new, as text",
      "completed success" in out and "15 mastodon posts" in out, out)
out = harvest("run", "mastodon_account", "--credentials-file", OPEN_KEYS,
              "--into", "whole", code=65)
check("run: an error names the field", "seeds" in out, out)
same("run: a refused one leaves no credential", s.ask("credential.list"),
     {"credentials": []})


# ---- A feed whose state has no seed to be told by ------------------------------------------

def weibo(*words):
    return json.loads(harvest(
        "run", "weibo_timeline", "--credentials-file", put("weibo", {
            "access_token": sim.world(WEIBO)["token"]}),
        "--option", "incremental=true", "--into", "weibo", "--json",
        *words))["items"]


check("weibo: the first run", weibo() > 0)
same("weibo: the second one goes on there", weibo(), 0)
same("weibo: its state", list(json.load(open("weibo/state.json"))[
    "__main__"]), ["local.since_id"])
check("weibo: another collection set begins anew",
      weibo("--collection-set", "7") > 0)


# ---- Rights and paths -------------------------------------------------------------------

START = {"type": "mastodon_account", "seeds": ["ada"], "credential": "open",
         "options": {"limit": 1}}
code, out, err = ours("credential", "put", "open", OPEN_KEYS, "--data", "data")
same("a credential is kept", (code, [c["name"] for c in s.ask(
    "credential.list")["credentials"]]), (0, ["open"]))
same("a client's path lies below a root", s.ask(
    "harvest.start", path=os.path.join(PLACE, "other"), **START)[0],
    "bad_args")
os.makedirs("data/harvested", exist_ok=True)
os.symlink(PLACE, "data/harvested/out")
same("... and no link leads out of it", s.ask(
    "harvest.start", path="out/posts", **START)[0], "forbidden")
check("... nothing was made there", not os.path.exists("posts"))


def token(name, scopes):
    code, out, err = ours("token", "add", name, "--scope", scopes, "--data",
                          "data")
    return out.strip() if code == 0 else check(f"token {name}", False, err)


reader = token("reader", "realtime:read,harvest:read")
writer = token("writer", "realtime:read,harvest:write")
crawler = token("crawler", "realtime:write")
check("tokens: harvests want one", wait_until(
    lambda: s.http("/realtime/command", "POST", {}, b"{}")[0] == 401, 5))
same("tokens: reading", len(s.ask("harvest.list", reader)["harvests"]), 5)
same("tokens: reading is not writing", s.ask(
    "harvest.start", reader, path="x", **START)[0], "forbidden")
same("tokens: realtime:write is not harvest:read",
     s.ask("harvest.list", crawler)[0], "forbidden")
one = s.ask("harvest.start", writer, path="client", **START)
check("tokens: writing", isinstance(one, dict) and s.comes_to(
    one["id"], "completed success", token=writer), one)
same("... its place", s.ask("harvest.get", reader, id=one["id"])["path"],
     os.path.join(PLACE, "data", "harvested", "client"))
check("... and its note", "limit_reached" in [
    n["code"] for n in s.ask("harvest.get", reader, id=one["id"])["notes"]])


# ---- Again and again -----------------------------------------------------------------------

code, out, err = ours("schedule", "put", "posts", "--harvest",
                      "mastodon_account", "--seed", "ada", "--credential",
                      "open", "--option", "limit=1", "--into", "often",
                      "--every", "6", "--unit", "hours", "--data", "data")
same("schedule: it is put", (code, out.strip()), (0, "1"))
check("schedule: its first run", s.comes_to("schedule-1-1",
      "completed success", token=reader) if wait_until(lambda: isinstance(
          s.ask("harvest.get", reader, id="schedule-1-1"), dict), 10)
      else False, s.said())
check("schedule: its files", glob.glob("often/20*/**/*.warc.gz",
                                       recursive=True))
code, out, err = ours("schedule", "list", "--data", "data")
check("schedule: the list says what it harvests",
      "harvest mastodon_account" in out and "6 hours" in out, out)
for words, wanted in (
        (["--harvest", "nothing", "--into", "x"], (65, "no type nothing")),
        (["--harvest", "mastodon_account", "--into", "x", "--credential",
          "open"], (65, "seeds")),
        (["--harvest", "mastodon_account", "--seed", "ada", "--into", "x",
          "--credential", "none"], (66, "none")),
        (["--harvest", "mastodon_account", "--seed", "ada"], (64, "--into")),
        (["--harvest", "mastodon_account", "--tag", "x"], (64, "--tag")),
        (["http://a.example/", "--into", "x"], (64, "--harvest"))):
    code, out, err = ours("schedule", "put", "bad", *words, "--data", "data")
    check(f"schedule: refused: {wanted[1]}", code == wanted[0] and
          wanted[1] in err, f"{code}: {out} {err}")


# ---- A stream: paused, killed, ended with the daemon, stopped ------------------------------

def add(n):
    sim.own("change", {"host": PRIVATE, "add": {"account": "ada", "n": n}})


def streams():
    return sum("streaming" in x["path"] for x in sim.log())


def follows(before):
    return wait_until(lambda: streams() > before, 20)


def state(name):
    return s.state(name, reader)


def comes_to(name, wanted):
    return check(f"stream: {wanted}", s.comes_to(name, wanted, 40, reader),
                 state(name))


there = set(sim.world(PRIVATE)["public"])
begun = streams()
run = start([program(), "harvest", "run", "mastodon_stream",
             "--credentials-file", STREAM_KEYS, "--into", "live", "--data",
             "data", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True)
check("stream: it has begun", follows(begun))
time.sleep(0.5)
add(10)
time.sleep(1)
run.send_signal(signal.SIGINT)
out, err = run.communicate(timeout=40)
same("stream: Ctrl-C pauses it", (run.returncode, json.loads(out)["state"]),
     (75, "paused"))
name = json.loads(out)["id"]
begun = streams()
harvest("resume", name)
check("stream: resumed", follows(begun))
comes_to(name, "running")
harvest("pause", name)
comes_to(name, "paused")
harvest("resume", name)
check("stream: and again", follows(begun + 1))
time.sleep(0.5)
add(5)
time.sleep(7)
begun = streams()
s.restart(kill=True)
check("stream: it goes on after a kill, without a broker", follows(begun))
add(5)
time.sleep(1.5)
same("stream: the daemon ends in order", s.stop(30), 0)
begun = streams()
s.start()
check("stream: and goes on", follows(begun))
harvest("stop", name)
comes_to(name, "completed success")
wanted = [p for p in sim.world(PRIVATE)["public"] if p not in there]
same("stream: no event is missing", sorted(set(exported("live", "live-json"))),
     sorted(wanted))
harvest("stop", name)
check("stream: one that is over is not paused", "is over" in harvest(
    "pause", name, code=69))
check("an unknown one", "nothing-1" in harvest("stop", "nothing-1", code=66))


# ---- Without a daemon ------------------------------------------------------------------------

begun = streams()
run = start([program(), "harvest", "run", "mastodon_stream",
             "--credentials-file", STREAM_KEYS, "--into", "alone", "--data",
             "data"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
check("left alone: it has begun", follows(begun))
same("left alone: the daemon ends", s.stop(30), 0)
out, err = run.communicate(timeout=40)
check("left alone: harvest run says that it has paused", run.returncode == 75
      and "the daemon has ended" in err, f"{run.returncode}: {out} {err}")
name = re.search(r"mastodon_stream-\d+", out + err)[0]
harvest("pause", name)
out = harvest("stop", name)
check("left alone: stopped without a daemon", "completed success" in out, out)
harvest("stop", name)
check("left alone: one that is over is not resumed",
      "is over" in harvest("resume", name, code=69))


# ---- docs/harvest.md: its commands, in order, in a fresh directory ---------------------------

with open(os.path.join(SOURCE, "docs", "harvest.md")) as f:
    page = f.read().split("\n## Types")[0]
os.makedirs("page/bin")
os.symlink(program(), "page/bin/argiope")
home = os.path.join(PLACE, "page")
env = dict(os.environ, HOME=home, PATH=home + "/bin:" + os.environ["PATH"],
           ARGIOPE_FETCH_CA_FILE=sim.ca,
           ARGIOPE_FETCH_RESOLVE=f"{OPEN}:443:127.0.0.1:{sim.port}")
said = ""
for kind, block in re.findall(r"```(sh|)\n(.*?)```", page, re.S):
    # The simulator's instance and account.
    block = block.replace("mastodon.social", OPEN).replace("Gargron", "ada")
    if kind == "":
        check(f"page: it shows {block.strip()}", block.strip() in said, said)
        continue
    if "incremental" in block:
        sim.own("change", {"host": OPEN, "add": {"account": "ada", "n": 7}})
    ran = subprocess.run(["sh", "-e", "-c", block], cwd=home, env=env,
                         timeout=60, capture_output=True, text=True)
    said = ran.stdout
    check("page: " + " ".join(block.split())[:64], ran.returncode == 0,
          ran.stdout + ran.stderr)
    if "incremental" in block:
        check("page: only what is new", "7 mastodon posts" in said, said)
with open("page/posts.csv", newline="", encoding="utf-8-sig") as f:
    lines = [r["uri"] for r in csv.DictReader(f)]
same("page: the table has each post once", (len(lines), len(set(lines))),
     (len(posts(OPEN, "ada")),) * 2)
done()
