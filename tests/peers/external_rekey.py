"""argiope external rekey: GRANTS grants get another key, through kills, beside a
daemon; damaged ones stay; wrong key files.

usage: external_rekey.sh [GRANTS]
"""
import random
import sqlite3

from external_door_peer import *
from peer import built, need

TRY = built("tests/peers/grant_try")
need("external rekey", files=[TRY])
WORDS = [int(x) for x in sys.argv[1:] if x.isdigit()]
GRANTS = (WORDS + [3000])[0]
TRIES = 40


def key(name):
    path = os.path.join(PLACE, name)
    with open(path, "wb") as f:
        f.write(random.randbytes(32))
    os.chmod(path, 0o600)
    return path


def grants(data, key_file, word, n=GRANTS):
    code, out, err = run(TRY, data, key_file, word, str(n))
    assert code == 0, err
    return int(out or 0)


def rekey(data, *words):
    return ours("external", "rekey", "--data", data, *words)


def folder_of(name, n):
    data = os.path.join(PLACE, name)
    os.makedirs(data, exist_ok=True)
    grants(data, OLD, "put", n)
    return data


OLD, NEW = key("old.key"), key("new.key")


def wrong_words():
    data = folder_of("words", 3)
    short = key("short.key")
    with open(short, "wb") as f:
        f.write(b"x" * 31)
    open_ = key("open.key")
    os.chmod(open_, 0o644)
    for name, words, code, text in (
            ("no --from", ("--to", NEW), 64, "--from"),
            ("the same key twice", ("--from", OLD, "--to", OLD), 64,
             "--from"),
            ("no such file", ("--from", "absent.key"), 66, "absent.key"),
            ("a file of 31 bytes", ("--from", short), 70, "short.key"),
            ("a file that others may read", ("--from", open_), 77,
             "open.key")):
        got, out, err = rekey(data, *words)
        check(f"{name}: {code}", got == code and text in err, f"{got} {err}")
    same("no data: 66", ours("external", "rekey", "--data", "nowhere",
                             "--from", OLD)[0], 66)
    same("none of them has changed a grant", grants(data, OLD, "count", 3),
         3)


def setting():
    """From the old file to secrets.key_file, beside a daemon."""
    data = folder_of("setting", 250)
    s = External("setting", connectors("none"), "secrets.key_file=" + NEW,
                 data=data)
    code, out, err = rekey(data, "--set", "secrets.key_file=" + NEW,
                           "--from", OLD)
    same("rekey", (code, out), (0, "grants: 250 sealed by the new key, "
                                "0 damaged\n"))
    same("... all open with the new key", grants(data, NEW, "count", 250),
         250)
    same("... and none with the old one", grants(data, OLD, "count", 250), 0)
    code, out, err = rekey(data, "--set", "secrets.key_file=" + NEW,
                           "--from", OLD, "--json")
    same("... again: none is left", (code, json.loads(out)),
         (0, {"sealed": 0, "damaged": 0}))
    same("the daemon goes on", s.stop(), 0)


def kills():
    """At moments of a run that was timed before, until three were within it."""
    data = folder_of("kills", GRANTS)
    began = time.monotonic()
    rekey(data, "--from", OLD, "--to", NEW)
    whole_s = time.monotonic() - began
    rekey(data, "--from", NEW, "--to", OLD)
    between = tries = 0
    while between < 3 and tries < TRIES:
        tries += 1
        child = start([program(), "external", "rekey", "--data", data,
                       "--from", OLD, "--to", NEW],
                      stdout=subprocess.DEVNULL)
        time.sleep(random.uniform(0, whole_s))
        child.kill()
        child.wait()
        new, old = (grants(data, k, "count") for k in (NEW, OLD))
        if not same("a kill loses no grant", new + old, GRANTS):
            break
        between += 0 < new < GRANTS
        if new == GRANTS:
            rekey(data, "--from", NEW, "--to", OLD)
    check("kills came in the middle", between > 0, f"{tries} tries within "
          f"{whole_s:.3f} s")
    code, out, err = rekey(data, "--from", OLD, "--to", NEW)
    same("the next run goes on", code, 0)
    same("... to the end", (grants(data, NEW, "count"), grants(
        data, OLD, "count")), (GRANTS, 0))


def damaged():
    data = folder_of("damaged", 5)
    with sqlite3.connect(os.path.join(data, "store.db")) as db:
        db.execute("UPDATE external_grant SET expiry = expiry - 1"
                   " WHERE uuid = 'user3'")
    db.close()
    code, out, err = rekey(data, "--from", OLD, "--to", NEW)
    same("a row that was changed is counted: 70", (code, out), (
        70, "grants: 4 sealed by the new key, 1 damaged\n"))
    same("... the others have the new key", grants(data, NEW, "count", 5), 4)


wrong_words()
setting()
kills()
damaged()
done()
