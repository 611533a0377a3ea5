"""Two daemons share a store on PostgreSQL: each grant is refreshed by one of them,
a task has the token that the other one got, ends when its grant does at whatever
daemon, and is taken up by the other when its own is killed.

usage: external_oauth_shared.sh PROGRAM
"""
from external_oauth_peer import *
from items_peer import database

need("external oauth shared", "openssl", files=[GRANT])
GRANTS = 20

provider, back = Provider(), Back()
api = Safe(provider)
declared = json.load(open(api.connector("plain")))["api"]
declared["auth"] = {"kind": "bearer"}
place = connectors("shared-connectors", api.connector(
    "account", api=declared, credential="oauth", oauth=provider.declares()))
key = os.path.join(PLACE, "shared.key")
with open(key, "wb") as f:
    f.write(os.urandom(32))
os.chmod(key, 0o600)
store = database("oauth_shared")
a = Door("shared-a", place, api, back, *store, "store.node=a",
         "secrets.key_file=" + key)
b = Door("shared-b", place, api, back, *store, "store.node=b",
         "secrets.key_file=" + key, tokens=a.tokens)


def granted(uuid, **more):
    return sign_in(a, provider.granted(**more), uuid=uuid)[0]


# ---- One refresh ---------------------------------------------------------------------

handles = [granted(f"g{i}", left_s=6) for i in range(GRANTS)]
check("all are refreshed", wait_until(
    lambda: len(provider.of("refresh_token")) >= GRANTS, 20),
    len(provider.of("refresh_token")))
time.sleep(3)
asked = [f["refresh_token"] for f in provider.of("refresh_token")]
same("... each once", (len(asked), len(set(asked))), (GRANTS, GRANTS))
done_by = [d.metric("argiope_external_refreshes_total", result="done") or 0
           for d in (a, b)]
same("... in all", sum(done_by), GRANTS)
failed = [d.metric("argiope_external_refreshes_total", result="failed") or 0
          for d in (a, b)]
same("... none failed", sum(failed), 0)
note(f"refreshes of the two: {done_by}")

# ---- Tasks ---------------------------------------------------------------------------

for d, fid in ((a, "s1"), (b, "s2")):
    d.begins(fid, back, by_handle(handles[0]))
    same(f"{fid}: done", d.ends(fid), "done")
provider.life_s, api.delay_s = 5, 1.5
long = granted("long")
a.begins("s3", back, by_handle(long))
same("a task longer than its token: done", a.ends("s3", 60), "done")
same("... documents, each once", (back.ids("s3"), back.repeated), (ALL, 0))
provider.life_s = 3600

ended = granted("ended")
b.begins("s4", back, by_handle(ended))
wait_until(lambda: back.of(UPLOADS, "s4"), 20)
grant(a, "clear", uuid="ended")
same("cleared elsewhere: failed", b.ends("s4"), "failed")
check("... sign in again", detail(back, "s4").startswith(
    "config: sign in again"), detail(back, "s4"))

a.begins("s5", back, by_handle(granted("moved")))
wait_until(lambda: back.of(UPLOADS, "s5"), 20)
a.kill()
api.delay_s = 0
same("its daemon is killed: done at the other", b.ends("s5", 60), "done")
same("... documents", back.ids("s5"), ALL)

# ---- No common key -------------------------------------------------------------------

c = Door("shared-c", place, api, back, *store, "store.node=c",
         tokens=a.tokens)
code, said = c.post("s6", back.endpoint("s6"), by_handle(long))
check("no secrets.key_file: 503 in words", code == 503 and said["messages"][
    0].startswith("system: secrets.key_file"), f"{code} {said}")
c.stop()
same("it ends", b.stop(), 0)
done()
