"""`argiope external tap` and the target-jsonl of PyPI: what comes to be in its
file over several runs, each of which goes on from the state of the one before.
"""
import json
import os
import subprocess
import sys

from external_peer import PAGE, TMP, Api, external, put
from peer import PLACE, check, done, same
from simulated import run_with

run_with(__file__, "target-jsonl==0.1.4")

api = Api()
file = api.connector()
config = put("config.json", {"kind": "red", "credential": {}})
place = os.path.join(PLACE, "kept")
os.makedirs(place, exist_ok=True)
target = put("target.json", {"destination_path": place})


def messages(out):
    return [json.loads(line) for line in out.splitlines()]


def load(out):
    """What the target says when it has taken the messages: the last state."""
    took = subprocess.run(
        [sys.executable, "-c", "import target_jsonl; target_jsonl.main()",
         "--config", target], input=out, text=True, capture_output=True,
        timeout=60)
    check("target-jsonl takes it", took.returncode == 0, took.stderr)
    lines = took.stdout.splitlines()
    return put("state.json", lines[-1]) if lines else None


def kept():
    found = []
    for name in sorted(os.listdir(place)):
        with open(os.path.join(place, name)) as f:
            found += map(json.loads, f)
    return found


def ids(records):
    return [x["id"] for x in records]


# ---- The catalog ------------------------------------------------------------------

code, out, err = external("tap", file, "--discover")
catalog = json.loads(out)
same("a catalog of one stream", (code, [x["tap_stream_id"] for x in
                                        catalog["streams"]]),
     (0, ["things"]))
same("with its key", catalog["streams"][0]["key_properties"], ["id"])
same("nothing was asked for", len(api.asked), 0)
for name, change, selected in (
        ("as it is", {}, True), ("selected", {"selected": True}, True),
        ("not selected", {"selected": False}, False),
        ("another stream", {"tap_stream_id": "other"}, False)):
    path = put("catalog.json", {"streams": [dict(catalog["streams"][0],
                                                 **change)]})
    code, out, err = external("tap", file, "--config", config, "--catalog",
                              path)
    same(f"the catalog {name}", (code, bool(out)), (0, selected))
of_all = catalog["streams"][0]["metadata"][0]
of_all["metadata"]["selected"] = False
code, out, err = external("tap", file, "--config", config, "--catalog",
                          put("catalog.json", catalog))
same("not selected by its metadata", (code, out), (0, ""))

# ---- Messages ---------------------------------------------------------------------

api.forget()
code, out, err = external("tap", file, "--config", config)
found = messages(out)
same("exit code", code, 0)
same("the schema comes first", (found[0]["type"], found[0]["stream"],
                                found[0]["key_properties"]),
     ("SCHEMA", "things", ["id"]))
same("records as the platform has them", [x["record"] for x in found if
                                          x["type"] == "RECORD"], api.items)
states = [i for i, x in enumerate(found) if x["type"] == "STATE"]
check("a state follows each page", len(states) >= 5 and states[0] == PAGE + 1
      and states[-1] == len(found) - 1, states)
check("standard error has no message", '"type"' not in err, err)

# ---- Twice ------------------------------------------------------------------------

state = load(out)
same("all are kept", kept(), api.items)
api.forget()
code, out, err = external("tap", file, "--config", config, "--state", state)
same("nothing is new", (code, [x for x in messages(out) if x["type"] ==
                               "RECORD"]), (0, []))
api.items += [api.item(i) for i in range(46, 60)]
state = load(out)
code, out, err = external("tap", file, "--config", config, "--state", state)
load(out)
same("what is new is kept", ids(kept()), list(range(1, 60)))
check("what is known was not asked for", all(int(x["since"]) >= 45
                                             for x in api.asked), api.asked)

# ---- A run that did not end -------------------------------------------------------

for name in os.listdir(place):
    os.unlink(os.path.join(place, name))
api.forget()
api.statuses = {3: 401}
code, out, err = external("tap", file, "--config", config)
same("the source fails in the middle", code, 69)
state = load(out)
same("what came before is kept", ids(kept()), list(range(1, 2 * PAGE + 1)))
api.forget()
code, out, err = external("tap", file, "--config", config, "--state", state)
load(out)
same("the next run brings the rest, each once", (code, ids(kept())),
     (0, list(range(1, 60))))
same("from where the first one was", api.asked[0].get("after"),
     str(2 * PAGE))

# ---- Faults -----------------------------------------------------------------------

api.items[3] = {"id": 4}
code, out, err = external("tap", file, "--config", config)
records = [x["record"] for x in messages(out) if x["type"] == "RECORD"]
same("a document that the schema does not allow is left out", (
    code, [x for x in ids(records) if x < 7]), (0, [1, 2, 3, 5, 6]))
check("and named", "document 4, 4: " in err, err)
api.items = [{"id": i} for i in range(1, 300)]
code, out, err = external("tap", file, "--config", config)
check("a hundred of them end the run", code == 65 and
      "left out: 100" in err, (code, err[-200:]))
for name, words in (
        ("the configuration", ("--config", put("bad.json", {"kind": ""}))),
        ("the credential", ("--config", put("bad.json", {
            "kind": "a", "credential": "x"}))),
        ("the state", ("--config", config, "--state", put("bad.json", {
            "bookmarks": {"things": {"cursor": {"version": 9}}}}))),
        ("the catalog", ("--config", config, "--catalog",
                         put("bad.json", "{")))):
    code, out, err = external("tap", file, *words)
    same(f"{name} is wrong", (code, [x for x in messages(out) if x["type"] !=
                                     "SCHEMA"]), (65, []))
same("no configuration", external("tap", file)[0], 64)
same("no run has left anything", os.listdir(TMP), [])
done()
