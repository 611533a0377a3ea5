"""Tasks of users who have signed in: which credentials are taken, tokens that are
renewed while a task runs, grants that end, kill -9 and restarts, and that no token
is in a log or a file.

The provider and the API are of this script; grants come into the store by
external_grant.

usage: external_oauth_tasks.sh PROGRAM
"""
from external_oauth_peer import *

need("external oauth tasks", "openssl", files=[GRANT])
# ---- Credentials -----------------------------------------------------------------

def credentials(s, back, api, provider):
    handle, issued = sign_in(s, provider.granted())
    seconds = int(time.mktime(time.strptime(issued[:19],
                                            "%Y-%m-%dT%H:%M:%S"))
                  - time.timezone)
    forms = {
        "by token": {"oauth": {"user": "ada", "token": handle}},
        "flat": {"user": "ada", "token": handle, "expiry": None},
        "by user and issued": {"oauth": {"user": "ada", "issued": issued}},
        "... in seconds": {"oauth": {"user": "ada", "issued": seconds}},
        "... in milliseconds, flat": {"user": "ada",
                                      "issued": seconds * 1000 + 999},
    }
    for i, (name, credential) in enumerate(forms.items()):
        fid = f"c{i}"
        s.begins(fid, back, credential)
        same(f"{name}: done", s.ends(fid), "done")
        same(f"{name}: documents", (back.ids(fid), back.repeated), (ALL, 0))
    check("the API had the provider's token", api.tokens and
          not api.refused and set(api.tokens) <= set(provider.given))

    theirs, _ = sign_in(s, provider.granted(), backend="other")
    second, _ = sign_in(s, provider.granted(), connector="second")
    old = provider.granted(left_s=-10, refresh=None, refresh_at=0)
    old["expiry"] = old["access_ends"]
    expired, _ = sign_in(s, old, uuid="u9")
    for sub in ("eu", "us"):
        _, double = sign_in(s, provider.granted("eve"), "eve", uuid="u2",
                            subdomain=sub)
    wrong = {
        "none": (None, "signed in"),
        "an empty one": ({}, "signed in"),
        "a text as oauth": ({"oauth": "x"}, "signed in"),
        "a token that is a number": ({"oauth": {"token": 7}}, "token"),
        "a token of nobody": (by_handle("argt_" + "x" * 43), "sign in"),
        "a token of another back end": (by_handle(theirs), "sign in"),
        "a token of another connector": (by_handle(second),
                                         "another connector"),
        "one that has expired": (by_handle(expired), "expired"),
        "another account": ({"oauth": {"user": "eve", "issued": issued}},
                             "sign in"),
        "another time": ({"oauth": {"user": "ada", "issued": seconds - 9}},
                         "sign in"),
        "no time": ({"oauth": {"user": "ada"}}, "issued"),
        "a time that is none": ({"user": "ada", "issued": "soon"}, "issued"),
    }
    if double:                       # Both in one second, mostly.
        code, said = s.post("w", back.endpoint("w"), {
            "oauth": {"user": "eve", "issued": double}})
        check("users of two subdomains, or one of them", code in (200, 400),
              said)
    for name, (credential, text) in wrong.items():
        code, said = s.post("w1", back.endpoint("w1"), credential)
        check(f"400: {name}", code == 400 and "credential: " in
              said["messages"][0] and text in said["messages"][0],
              f"{code} {said}")
    code, said = s.post("w1", back.endpoint("w1"), by_handle(handle),
                        token=s.tokens["other"])
    check("400: at the other back end", code == 400 and "credential: " in
          said["messages"][0], f"{code} {said}")
    same("none of them has made a task", back.of(STATUSES, "w1"), [])

    def judge(credential):
        said = s.ask("POST", "/external/account/check", {
            "params": PARAMS, "credential": credential})[1]["payload"]
        return said["ok"], [(c["name"], c["ok"]) for c in said["checks"]]

    same("check: all is right", judge(by_handle(handle)), (True, [
        ("parameters", True), ("credential", True), ("source", True),
        ("documents", True)]))
    same("check: a token of nobody", judge(by_handle("argt_x")), (False, [
        ("parameters", True), ("credential", False)]))
    same("check: no credential", judge({}), (False, [
        ("parameters", True), ("credential", False)]))


# ---- Tokens that are renewed -------------------------------------------------------

def renewals(s, back, api, provider):
    provider.asked.clear(), api.tokens.clear()
    provider.life_s, api.delay_s = 4, 1.2
    handle, _ = sign_in(s, provider.granted(), uuid="long")
    s.begins("n1", back, by_handle(handle))
    same("a task longer than its token: done", s.ends("n1", 60), "done")
    same("... documents, each once", (back.ids("n1"), back.repeated),
         (ALL, 0))
    check("... with several tokens", len(set(api.tokens)) > 1, api.tokens)
    check("... and says so", "new token" in s.lines("n1"), s.lines("n1"))
    kept = json.loads(grant(s, "get", uuid="long")[1])
    check("... the rotated token is kept", kept["refresh"] in
          provider.refresh, provider.asked)
    check("... refreshes are counted", s.metric(
        "argiope_external_refreshes_total", result="done") >= 1)
    grant(s, "clear", uuid="long")
    provider.life_s, api.delay_s = 3600, 0

    provider.asked.clear()
    provider.answers = [(503, {})]
    handle, _ = sign_in(s, provider.granted(left_s=-1), uuid="late")
    s.begins("n2", back, by_handle(handle))
    check("an expired token: it waits", wait_until(
        lambda: "token" in s.look("n2", "account")["waiting"], 5),
        s.look("n2", "account"))
    same("... done, after a failure", s.ends("n2", 40), "done")
    same("... two requests", len(provider.of("refresh_token")), 2)
    same("... documents", back.ids("n2"), ALL)

    # Grants of a key that is gone, more than are refreshed at once.
    old_key = os.path.join(PLACE, "old.key")
    with open(old_key, "wb") as f:
        f.write(os.urandom(32))
    os.chmod(old_key, 0o600)
    for i in range(20):
        sign_in(s, provider.granted(left_s=-100), uuid=f"x{i}", key=old_key)
    sign_in(s, provider.granted(left_s=-1), uuid="behind")
    before = len(provider.of("refresh_token"))
    check("grants of another key do not stop others", wait_until(
        lambda: len(provider.of("refresh_token")) > before, 15))

    # The provider refuses the token early, and gives no other one.
    handle, _ = sign_in(s, provider.granted(), uuid="early")
    provider.access.clear()
    s.begins("n3", back, by_handle(handle))
    same("a token that the source refuses: failed", s.ends("n3"), "failed")
    check("... says who must act", detail(back, "n3").startswith("config: "),
          detail(back, "n3"))


# ---- Grants that end ---------------------------------------------------------------

def ends(s, back, api, provider):
    def began(fid, uuid, left_s=None):
        api.delay_s = 0.8
        handle, _ = sign_in(s, provider.granted(left_s=left_s), uuid=uuid)
        s.begins(fid, back, by_handle(handle))
        wait_until(lambda: back.of(UPLOADS, fid), 20)
        return handle

    def expect_end(name, fid, uuid):
        same(f"{name}: failed", s.ends(fid), "failed")
        check(f"{name}: sign in again", detail(back, fid).startswith(
            "config: sign in again"), detail(back, fid))
        same(f"{name}: no grant", grant(s, "get", uuid=uuid)[0], 66)
        code, said = s.post(fid + "x", back.endpoint(fid + "x"),
                            by_handle(handle))
        same(f"{name}: the token is worth nothing", code, 400)

    handle = began("e1", "cleared")
    from_ = time.monotonic()
    grant(s, "clear", uuid="cleared")
    expect_end("cleared by another daemon", "e1", "cleared")
    check("... soon", time.monotonic() - from_ < 5)

    handle = began("e2", "other", None)
    sign_in(s, provider.granted("bob"), "bob", uuid="other")
    same("another account: failed", s.ends("e2"), "failed")
    check("... sign in again", detail(back, "e2").startswith(
        "config: sign in again"), detail(back, "e2"))

    provider.life_s = 4
    handle = began("e3", "refused")
    api.delay_s = 5
    provider.refresh.clear()
    expect_end("invalid_grant", "e3", "refused")
    provider.life_s, api.delay_s = 3600, 0

    # A retry goes on at the cursor, with a new token.
    text = provider.granted()
    handle, _ = sign_in(s, text, uuid="refused")
    s.begins("e3", back, by_handle(handle))
    same("a retry after signing in: done", s.ends("e3"), "done")
    same("... documents, each once", (back.ids("e3"), back.repeated),
         (ALL, 0))

    # The same task with another user's token goes on with that.
    api.delay_s = 0.8
    api.tokens.clear()
    one = provider.granted("ann")
    two = provider.granted("bea")
    first, _ = sign_in(s, one, "ann", uuid="ann")
    second, _ = sign_in(s, two, "bea", uuid="bea")
    s.begins("e4", back, by_handle(first))
    wait_until(lambda: back.of(UPLOADS, "e4"), 20)
    s.begins("e4", back, by_handle(second))
    same("a repeated POST with another token: done", s.ends("e4"), "done")
    same("... continues with the new token", (api.tokens[0], api.tokens[-1]),
         (one["access"], two["access"]))
    same("... documents, each once", (back.ids("e4"), back.repeated),
         (ALL, 0))
    api.delay_s = 0


# ---- Restarts ----------------------------------------------------------------------

def restarts(s, back, api, provider):
    api.delay_s = 0.5
    handle, _ = sign_in(s, provider.granted(), uuid="r")
    for i, kill in enumerate((False, True)):
        fid = f"r{i}"
        s.begins(fid, back, by_handle(handle))
        wait_until(lambda: back.of(UPLOADS, fid), 20)
        s.restart(kill=kill)
        same(f"{'kill -9' if kill else 'SIGTERM'}: it goes on: done",
             s.ends(fid), "done")
        same("... documents, each once", (back.ids(fid), back.repeated),
             (ALL, 0))

    def crash(uuid, fid, keeps_old):
        provider.life_s, provider.keeps_old = 4, keeps_old
        died = threading.Event()

        def kill():
            provider.hook = None
            s.child.kill()
            died.set()

        handle, _ = sign_in(s, provider.granted(), uuid=uuid)
        s.begins(fid, back, by_handle(handle))
        provider.hook = kill
        check("killed between the provider's reply and the commit",
              died.wait(20))
        s.child.wait()
        provider.life_s = 3600
        s.start()

    # The lease of the refresh ends after 7 s.
    api.delay_s = 1.2
    crash("strict", "k1", False)
    same("the old refresh token is worth nothing: failed",
         s.ends("k1", 60), "failed")
    check("... sign in again", detail(back, "k1").startswith(
        "config: sign in again"), detail(back, "k1"))
    crash("mild", "k2", True)
    same("the provider takes it again: done", s.ends("k2", 60), "done")
    same("... documents, each once", (back.ids("k2"), back.repeated),
         (ALL, 0))
    provider.keeps_old, api.delay_s = False, 0


def without_key(place, back, api):
    key = put("bad.key", "short")
    os.chmod(key, 0o600)
    s = Door("keyless", place, api, back, "secrets.key_file=" + key)
    code, said = s.post("x", back.endpoint("x"), by_handle("argt_x"))
    check("no key: 503 in words", code == 503 and said["messages"][
        0].startswith("system: ") and "key" in said["messages"][0],
        f"{code} {said}")
    with open(s.log) as f:
        check("... and at the start", any(
            "external.oauth" in x and "account" in x for x in f))
    s.stop()


# ---- Canaries ----------------------------------------------------------------------

def canaries(s, provider):
    found = []
    words = [x.encode() for x in (*provider.given, provider.client[1])]
    for top, _, files in os.walk(s.data):
        for name in files:
            with open(os.path.join(top, name), "rb") as f:
                text = f.read()
            found += [(name, w) for w in words if w in text]
    with open(s.log, "rb") as f:
        text = f.read()
    found += [("log", w) for w in (*words, b"argt_") if w in text]
    same(f"{len(words)} secrets: in no log, store or WARC", found, [])


provider, back = Provider(), Back()
api = Safe(provider)
OAUTH = {"credential": "oauth", "oauth": provider.declares()}
declared = json.load(open(api.connector("plain")))["api"]
declared["auth"] = {"kind": "bearer"}
place = connectors("oauth-connectors", *[
    api.connector(c, api=declared, **OAUTH) for c in ("account", "second")])
s = Door("oauth", place, api, back)
credentials(s, back, api, provider)
renewals(s, back, api, provider)
ends(s, back, api, provider)
restarts(s, back, api, provider)
canaries(s, provider)
same("it ends", s.stop(), 0)
without_key(place, back, api)
done()
