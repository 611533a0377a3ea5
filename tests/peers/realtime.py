"""The realtime door's envelope: handshakes, frames, arguments, errors, limits.

usage: realtime.sh [CASE...]

What crawls, items and the rest mean is in realtime_crawls.py, what slow readers
cost in realtime_flow.py.
"""

import asyncio

from realtime_peer import *

begin("realtime")
import websockets
from websockets.extensions.permessage_deflate import \
    ClientPerMessageDeflateFactory

case = Cases()
HOSTS = 60

# Every command: its arguments with what they are; "!" marks what must be there.
COMMANDS = {
    "start_crawl": {"seeds": "seeds!", "name": "text", "tags": "texts",
                    "policy": "policy"},
    "job.start": {"seeds": "seeds!", "name": "text", "tags": "texts",
                  "policy": "policy"},
    "subscribe_crawl_stats": {"min_interval": "number", "crawl_id": "crawl",
                              "tag": "text", "closed_event": "bool"},
    "subscribe_crawl_status": {"min_interval": "number", "crawl_id": "crawl",
                               "tag": "text", "closed_event": "bool"},
    "subscribe_crawl_items": {"crawl_id": "crawl!", "sync_token": "token",
                              "tag": "text", "sync_tokens": "object",
                              "body": "bool", "headers": "word",
                              "closed_event": "bool"},
    "unsubscribe": {"subscription_id": "id!"},
    "job.pause": {"crawl_id": "crawl!"},
    "job.resume": {"crawl_id": "crawl!"},
    "job.cancel": {"crawl_id": "crawl!"},
    "ping": {},
    "list_crawls": {"status": "text", "tag": "text", "start": "id",
                    "size": "id"},
    "policy.put": {"name": "text!", "policy": "object!"},
    "policy.get": {"name": "text!"},
    "policy.delete": {"name": "text!"},
    "policy.list": {},
    "schedule.put": {"name": "text!", "seeds": "seeds!", "every": "id!",
                     "unit": "word!"},
    "schedule.delete": {"schedule_id": "id!"},
    "schedule.list": {},
    "subscribe_crawl_log": {"crawl_id": "crawl", "tag": "text",
                            "sync_token": "token"},
    "subscribe_monitor": {},
    "get_frontier": {"crawl_id": "crawl!", "hosts": "id", "urls": "id"},
    "subscribe_frontier": {"crawl_id": "crawl!", "hosts": "id",
                           "urls": "id", "min_interval": "number"},
    "why": {"crawl_id": "crawl!"},
    "job.exclude": {"crawl_id": "crawl!", "pattern": "text!",
                    "preview": "bool", "partial": "bool"},
    "job.retry": {"crawl_id": "crawl!", "reason": "word", "urls": "texts"},
    "job.rerun": {"crawl_id": "crawl!", "name": "text", "failures": "bool",
                  "start": "id"},
    "job.delete": {"crawl_id": "crawl!"},
    "list_pages": {"crawl_id": "crawl!", "start": "id", "size": "id",
                   "text": "text", "status": "word", "type": "text",
                   "host": "text", "order": "word", "digest": "word",
                   "partial": "bool"},
    "get_page": {"crawl_id": "crawl!", "number": "id!", "body": "bool",
                 "duplicates": "bool"},
    "get_history": {"crawl_id": "crawl!"},
    "list_problems": {"crawl_id": "crawl!"},
    "find_url": {"crawl_id": "crawl!", "url": "text!"},
    "explain": {"url": "text!", "policy": "policy", "parent_cost": "number"},
}
WRONG = {
    "crawl": [True, [], {}, "x", -1, "-1", 1.5, "1.5", "0x1", "1e400"],
    "id": [True, [], {}, "x", -1, 0.5, "0.5", "nan"],
    "number": [True, [], {}, "x", -1, "-0.5", "inf", "NaN"],
    "text": [5, True, [], {}],
    "word": [5, True, [], {}, "no such word"],
    "bool": ["yes", 1, [], {}],
    "object": [5, "x", [], True],
    "texts": [5, "x", {}, [5], [None], True],
    "policy": [5, True, []],
    "seeds": [5, "http://a.test/", {}, True, [5], [None], [{}], [""]],
    "token": [5.5, True, [], {}, -1],
}
RIGHT = {"seeds": ["http://closed.test/"], "name": "right",
         "pattern": "nothing", "url": "http://closed.test/", "policy": {},
         "subscription_id": 0, "number": 1, "schedule_id": 1, "every": 1,
         "unit": "days"}


class Ask:
    """An argument table's command with arguments that are right."""

    def __init__(self, command, crawl):
        self.command = command
        self.args = {a: crawl if kind == "crawl!" else RIGHT[a]
                     for a, kind in COMMANDS[command].items()
                     if kind.endswith("!")}
        if command == "job.retry":
            self.args["reason"] = "dns"

    def but(self, **args):
        return dict(self.args, **args)


def ended_crawl(t):
    """One that is complete with a single exception."""
    crawl = t.c.start("http://closed.test/")
    t.c.ends(crawl)
    return crawl


# ---- The handshake -----------------------------------------------------------

def refused(t, *args, **more):
    """The status with which a handshake is refused, or 101."""
    try:
        t.server.client(*args, **more).close()
        return 101
    except Refused as e:
        return e.status


@case
def handshake(t):
    for path in ("/", "/any/path", "/x?y=1"):
        t.same(f"{path} is this door", refused(t, path), 101)
    for origin, status in (("http://localhost:3000", 101),
                           ("http://127.0.0.1", 101), ("http://[::1]:9", 101),
                           ("https://evil.example", 403), ("null", 403),
                           ("http://localhost.evil.example", 403),
                           ("http://127.0.0.1.evil.example", 403)):
        t.same(f"Origin {origin}", refused(t, origin=origin), status)
    for host, status in ((f"localhost:{t.server.port}", 101),
                         ("evil.example", 403)):
        t.same(f"Host {host}", refused(t, fields={"Host": host}), status)
    c = t.server.client(extensions=[ClientPerMessageDeflateFactory()],
                        subprotocols=["chat"])
    for name in ("Sec-WebSocket-Extensions", "Sec-WebSocket-Protocol"):
        t.check(f"no {name} is selected", name not in c.handshake.headers,
                c.handshake.headers)
    t.same("it serves all the same", c.good("ping"), {})
    for fields, status in (({"Sec-WebSocket-Version": "12"}, 426),
                           ({"Sec-WebSocket-Key": "x"}, 400)):
        got = refused(t, fields=fields)
        t.check(f"{fields} is refused", got in (status, 400), got)


@case
def other_origins(t):
    s = Server("origins", "realtime.origins=https://a.example,null")
    own = Case(t.name, s, t.web)
    for origin, status in (("https://a.example", 101), ("null", 101),
                           ("https://b.example", 403),
                           ("http://localhost", 101)):
        t.same(f"Origin {origin}", refused(own, origin=origin), status)
        asked, fields, _ = s.http("/realtime/command", "OPTIONS", {
            "Origin": origin, "Access-Control-Request-Method": "POST"})
        read = s.http("/realtime/commands", fields={"Origin": origin})
        # A loopback page that nobody listed may send, and reads no answer.
        listed = origin in ("https://a.example", "null")
        t.same(f"... a page of {origin} asks before", (asked, fields[
            "Access-Control-Allow-Methods"]),
            (204, "POST") if listed else (405, None))
        t.same("... reads the commands", (read[0], read[1][
            "Access-Control-Allow-Origin"]), (200, origin if listed else None))
    s.stop()


@case
def connections_max(t):
    s = Server("connections", "realtime.connections_max=3")
    held = [s.client() for _ in range(3)]
    try:
        s.client()
        t.check("the fourth is refused", False)
    except Refused as e:
        t.same("the fourth is refused", e.status, 503)
    except Silent:
        t.check("the fourth is refused", False, "silence")
    t.same("the others go on", [c.good("ping") for c in held], [{}] * 3)
    held[0].close()
    t.check("there is room again", wait_until(
        lambda: refused(Case(t.name, s, t.web, client=False)) == 101, 3))
    s.stop()


# ---- The envelope ------------------------------------------------------------

IDS = ["0", "-1", "1.5", "1e3", "12345678901234567890123", "\"text\"",
       "\"\"", "\"\\u00e9\\n\\\"\"", "null", "true", "false", "[]",
       "[1,{\"a\":[null]}]", "{}", "{\"b\":1,\"a\":\"\\ud83d\\ude00\"}"]


@case
def command_ids(t):
    for text in IDS:
        want = json.loads(text)
        t.c.send_text(f'{{"command":"ping","command_id":{text}}}', want,
                      "ping")
        got = t.c.await_response(want)
        t.check(f"{text} comes back", got["success"] and
                got["command_id"] == want and
                type(got["command_id"]) is type(want), got)
    t.c.send_text(' \r\n\t{"command_id":1,"later":[1,2],"command":"ping",'
                  '"args":null}\n', 1, "ping")
    t.same("unknown keys, blanks and args null are fine",
           t.c.await_response(1)["data"], {})
    t.c.send_text('{"command_id":2,"command":"ping","args":{}}'.encode(), 2,
                  "ping")
    t.check("JSON in a binary frame", t.c.await_response(2)["success"])


BAD_JSON = ["{not json", "", " ", "{", "}", '{"a":1', '{"a":1,}', "[1,",
            "{'a':1}", '{"a":01}', '{"a":NaN}', '{"a":"\t"}', '{"a":"\\x"}',
            '{"command":"ping","command_id":1} x', "nul", '"\\ud800',
            "\ufeff{}x", "\u0000", '{"a" 1}', "// x\n{}"]
BAD_MESSAGES = ["[1]", "1", '"x"', "null", "true", "{}", "[]",
                '{"command":"ping"}', '{"command":5,"command_id":1}',
                '{"command":null,"command_id":1}',
                '{"command":["ping"],"command_id":1}']


@case
def bad_messages(t):
    for code, texts in (("bad_json", BAD_JSON), ("bad_message",
                                                 BAD_MESSAGES)):
        for text in texts:
            known = json.loads(text) if code == "bad_message" else None
            want = known.get("command_id") if isinstance(known, dict) \
                else None
            t.c.send_text(text, want)
            m = t.c.await_response(want)
            t.same(f"{text[:40]!r}", (m["code"], m["command_id"]),
                   (code, want))
    t.c.send_text('{"command_id":"mine"}', "mine")
    t.same("without a command the ID is echoed",
           t.c.await_response("mine")["code"], "bad_message")
    t.c.send_text('{"command_id":1,"command":"ping","args":[]}', 1)
    m = t.c.await_response(1)
    t.check("args that are no object", m["code"] in (
        "bad_args", "bad_message"), m)
    t.same("the socket is open", t.c.good("ping"), {})


@case
def depth(t):
    def nested(n):
        return "[" * n + "]" * n

    # The message itself is one level; the ID may or may not be read.
    text = '{"command_id":null,"command":"ping","x":%s}'
    t.c.send_text(text % nested(31), None)
    t.check("32 levels are fine", t.c.await_response(None)["success"])
    for n in (32, 100, 500000):
        t.c.send_text(text % nested(n), None)
        m = t.c.await_response(None)
        t.check(f"{n + 1} levels are too many", m.get("code") in (
            "limit", "bad_json"), m)
    for bomb in ("[" * 900000, '{"a":' * 150000):
        t.c.send_text(bomb, None)
        t.check("a bomb is refused", t.c.await_response(None)["code"] in (
            "limit", "bad_json"))
    t.same("the socket is open", t.c.good("ping"), {})


@case
def unknown_commands(t):
    m = t.c.ask("nope")
    t.same("its text", (m["code"], m["error"]),
           ("unknown_command", "Invalid command: nope"))
    for name in ("", "PING", "ping ", "subscribe", "x" * 5000,
                 "job.", "policy", "\u00e9", "%s%n"):
        m = t.c.ask(name)
        t.check(f"{name[:20]!r}", m["code"] == "unknown_command" and
                len(m["error"]) < 400, m)


# ---- Arguments ---------------------------------------------------------------

@case
def arguments(t):
    crawl = ended_crawl(t)
    for command, table in COMMANDS.items():
        a = Ask(command, crawl)
        m = t.c.ask(command, **a.but(bogus=1))
        t.check(f"{command}: an unknown argument is named",
                m.get("code") == "bad_args" and "bogus" in m["error"], m)
        for name, kind in table.items():
            if kind.endswith("!"):
                wrong = [None] if name != "crawl_id" else ["", None]
                without = {k: v for k, v in a.args.items() if k != name}
                for args in [without] + [a.but(**{name: w}) for w in wrong]:
                    m = t.c.ask(command, **args)
                    t.check(f"{command}: without {name}",
                            m.get("code") in ("bad_args", "bad_policy") and
                            (name in m["error"] or name == "crawl_id"),
                            f"{args}: {m}")
            refuse_wrong(t, command, a, name, kind.rstrip("!"))


def refuse_wrong(t, command, a, name, kind):
    accepted = {}
    for wrong in WRONG[kind]:
        m = t.c.ask(command, **a.but(**{name: wrong}))
        codes = {"policy": ("bad_args", "bad_policy", "unknown_policy"),
                 "object": ("bad_args", "bad_policy"),
                 "token": ("bad_token", "bad_args"),
                 "id": ("bad_args", "unknown_subscription")}.get(
                     kind, ("bad_args",))
        if name == "name" and kind == "text" and wrong == "":
            continue
        if m.get("code") not in codes or name not in m["error"] and \
                kind != "token" and "crawl" not in kind:
            accepted[json.dumps(wrong)] = m.get("error", "accepted")
    t.check(f"{command}: wrong values of {name}", not accepted, accepted)


@case
def given_twice(t):
    """Of what is given twice neither is meant; lists once broke the heap."""
    a, b = ended_crawl(t), ended_crawl(t)
    many = json.dumps(["http://closed.test/"] * 9000)
    one = '["http://closed.test/"]'
    for command, args, name in (
            ("job.cancel", f'"crawl_id":{a},"job_id":{b}', "crawl_id"),
            ("job.cancel", f'"crawl_id":{a},"crawl_id":{b}', "crawl_id"),
            ("start_crawl", f'"seeds":{many},"seeds":{one}', "seeds"),
            ("start_crawl", f'"seeds":{one},"tags":["a","b"],"tags":["c"]',
             "tags"),
            ("job.retry", f'"crawl_id":{a},"urls":{many},"urls":{one}',
             "urls"),
            ("subscribe_crawl_items", '"tag":"x","sync_tokens":'
             f'{{"{a}":"MA==","0{a}":"MA=="}}', "sync_tokens")):
        t.c.send_text('{"command":"%s","command_id":"2","args":{%s}}' %
                      (command, args), "2", command)
        m = t.c.await_response("2")
        t.check(f"{name} of {command}", m.get("code") == "bad_args" and
                m["error"].startswith(name + ": "), m)
    t.same("one of them absent", t.c.good("job.cancel", crawl_id=a,
                                          job_id=None)["crawl_id"], a)


@case
def crawl_ids(t):
    crawl = ended_crawl(t)
    takers = [(c, "crawl_id") for c, table in COMMANDS.items()
              if "crawl" in table.get("crawl_id", "")]
    for command, _ in takers:
        a = Ask(command, crawl)
        m = t.c.ask(command, **a.but(crawl_id=9999))
        t.same(f"{command} of a crawl that is not there",
               (m.get("code"), m.get("error")), (
                   "unknown_crawl",
                   "Crawl ID=9999 matched 0 crawls! (expected 1)"))
        args = {k: v for k, v in a.args.items() if k != "crawl_id"}
        t.same(f"{command}: job_id is crawl_id",
               t.c.ask(command, **args, job_id=9999).get("code"),
               "unknown_crawl")
    for form in (crawl, str(crawl), float(crawl), f"{crawl}.0"):
        t.check(f"crawl_id {form!r}",
                t.c.ask("why", crawl_id=form)["success"] or
                isinstance(form, str))
    for big in (1 << 32, 1 << 63, 1 << 64, 10 ** 30, 1e300,
                "99999999999999999999"):
        t.check(f"crawl_id {big}", t.c.bad("why", crawl_id=big) in (
            "unknown_crawl", "bad_args"))


@case
def lenient_numbers(t):
    crawl = ended_crawl(t)
    for value in (None, "", 0, "0", 0.5, "0.5", 2, "2", "1e1", 1e-9):
        m = t.c.ask("subscribe_crawl_stats", crawl_id=str(crawl),
                    min_interval=value)
        t.check(f"min_interval {value!r}", m["success"], m)
    for value in (None, "", 3, "3", 3.0):
        m = t.c.ask("list_crawls", start=value, size=value)
        t.check(f"start and size {value!r}", m["success"], m)
    for value in ("", None, 0.1, "0.1", 0, "0"):
        m = t.c.ask("start_crawl", seeds=[{"url": "http://closed.test/",
                                           "rate_limit": value}])
        t.check(f"rate_limit {value!r}", m["success"], m)
    for value in (-1, "-1", True, "x", [], "nan", 1.5e308 * 10):
        text = json.dumps({"seeds": [{"url": "http://closed.test/",
                                      "rate_limit": value}]})
        if "Infinity" in text:
            text = text.replace("Infinity", "1e999")
        t.c.send_text('{"command":"start_crawl","command_id":"n","args":%s}'
                      % text, "n")
        if "1e999" in text and t.c.until(
                lambda: t.c.responses.pop("null", None), 0.3):
            continue             # not JSON for it: as good
        m = t.c.await_response("n")
        t.check(f"rate_limit {value!r} is refused", m["code"] == "bad_args"
                and "rate_limit" in m["error"], m)


@case
def seeds(t):
    t.same("a text is a seed", type(t.c.good(
        "start_crawl", seeds=["http://closed.test/"])["crawl_id"]), int)
    data = t.c.good("job.start", seeds=[{"url": "http://closed.test/a"}])
    t.same("job.start tells both names", data["job_id"], data["crawl_id"])
    for wrong, named in (([], "seeds"), ([{"rate_limit": 1}], "url"),
                         ([{"url": None}], "url"), ([{"url": ""}], "url"),
                         ([{"url": 5}], "url"), ([{"url": "no url"}], ""),
                         (["http://closed.test/", "ftp://x/"], ""),
                         (["http://"], ""), (["javascript:alert(1)"], ""),
                         (["http://closed.test/\u0000"], None)):
        m = t.c.ask("start_crawl", seeds=wrong)
        if named is None:
            continue
        t.check(f"seeds {wrong}", m.get("code") == "bad_args" and
                named in m["error"], m)
    m = t.c.ask("start_crawl", seeds=["http://closed.test/", {"url": 5}])
    t.check("it says which", "1" in m["error"], m)
    for url in ("http://127.0.0.1:1/", "http://closed.test:99999/"):
        t.check(f"{url} is answered", "success" in t.c.ask(
            "start_crawl", seeds=[url]))


@case
def policies(t):
    wrong = [({"url_rules": [{"pattern": "(", "action": "add", "amount": 1},
                             {"action": "multiply", "amount": 0}]},
              "url_rules[0].pattern"),
             ({"url_rules": [{"pattern": "a", "action": "add", "amount": 1},
                             {"pattern": "x", "action": "what", "amount": 0},
                             {"action": "add", "amount": 1}]},
              "url_rules[1].action"),
             ({"limits": {"max_depth": -1}}, "max_depth"),
             ({"limits": {"timeout": "soon"}}, "timeout"),
             ({"robots": "perhaps"}, "robots"), ({"nonsense": 1}, "nonsense"),
             ({"limits": []}, "limits")]
    for policy, place in wrong:
        m = t.c.ask("start_crawl", seeds=["http://closed.test/"],
                    policy=policy)
        t.check(f"{place} is named", m.get("code") == "bad_policy" and
                place in m["error"], m)
        m = t.c.ask("policy.put", name="wrong", policy=policy)
        t.check(f"{place} is named by policy.put",
                m.get("code") == "bad_policy" and place in m["error"], m)
    for command, args in (("start_crawl", {"seeds": ["http://closed.test/"],
                                           "policy": "nobody"}),
                          ("policy.get", {"name": "nobody"}),
                          ("policy.delete", {"name": "nobody"}),
                          ("explain", {"url": "http://a.test/",
                                       "policy": "nobody"})):
        t.same(f"{command} of no policy", t.c.bad(command, **args),
               "unknown_policy")
    t.check("default cannot be deleted",
            t.c.bad("policy.delete", name="default") is not None)


# ---- Frames ------------------------------------------------------------------

PING = b'{"command":"ping","command_id":"f"}'


@case
def fragments(t):
    def answered(what):
        t.check(what, t.c.await_response("f")["success"])

    for pieces in (2, 3, len(PING)):
        t.c.rules.asked.append(("f", "ping", None))
        step = -(-len(PING) // pieces)
        parts = [PING[i:i + step] for i in range(0, len(PING), step)]
        for i, part in enumerate(parts):
            t.c.raw(masked(1 if i == 0 else 0, part, i == len(parts) - 1))
            if i == 0:
                t.c.raw(masked(9, b"between"))
        answered(f"a message of {len(parts)} frames")
        t.check("... and a ping between them", b"between" in t.c.pongs)
    t.c.rules.asked.append(("f", "ping", None))
    for byte in masked(1, PING):
        t.c.raw(bytes((byte,)))
    answered("a frame byte by byte")
    t.c.rules.asked.append(("f", "ping", None))
    t.c.raw(masked(1, b"", False) + masked(0, b"", False) +
            masked(0, PING, True))
    answered("empty frames before it")
    t.c.raw(masked(9, b"p" * 125))
    t.check("a ping of 125 bytes", t.c.until(
        lambda: b"p" * 125 in t.c.pongs))


@case
def close_codes(t):
    cases = {
        1002: [masked(1, PING, mask=b""), masked(3, b"x"), masked(0, b"x"),
               masked(1, PING, reserved=4), masked(9, b"x" * 126),
               masked(9, b"x", fin=False), masked(8, b"x"),
               masked(8, struct.pack("!H", 1005)), masked(11, b""),
               masked(1, b"x", fin=False) + masked(1, b"y")],
        1007: [masked(1, b"\xff\xfe"), masked(1, b"\xc3"),
               masked(1, b"\xed\xa0\x80"), masked(1, b"{\xf5\x80\x80\x80}"),
               masked(8, struct.pack("!H", 1000) + b"\xff")],
        1009: [masked(1, b" " * (MIB + 1)), masked(2, b" " * (2 * MIB)),
               masked(1, b" " * MIB, fin=False) + masked(0, b"x")],
        1000: [masked(8, struct.pack("!H", 1000))],
    }
    for code, frames in cases.items():
        for i, frame in enumerate(frames):
            c = t.server.client()
            c.raw(frame)
            got = c.closing()
            t.check(f"{code}, case {i}", got == code, got)
            c.close()
    text = '{"command":"ping","command_id":7,"x":"%s"}'
    t.c.send_text(text % ("y" * (MIB - len(text) + 2)), 7, "ping")
    t.check("a message of 1 MiB", t.c.await_response(7)["success"])
    t.c.raw(masked(1, PING) + masked(8, struct.pack("!H", 1000)))
    t.c.rules.asked.append(("f", "ping", None))
    t.check("what came before a close is answered or dropped",
            t.c.closing() == 1000)


@case
def pipelined(t):
    n = 2000
    first = t.c.ids
    frames = bytearray()
    for i in range(n):
        text = '{"command":"%s","command_id":%d}' % (
            ("ping", "list_crawls", "policy.list", "nope")[i % 4], first + i)
        t.c.rules.asked.append((first + i, "", None))
        frames += masked(1, text.encode())
    t.c.ids += n
    t.c.raw(frames)
    t.c.until(lambda: len(t.c.responses) >= n, 20)
    t.same("all are answered", len(t.c.responses), n)
    at = [t.c.responses[str(first + i)][0]["at"] for i in range(n)]
    t.check("in their order", at == sorted(at))


# ---- Limits ------------------------------------------------------------------

@case
def limits(t):
    fine = {"max_depth": 0}
    one = ["http://closed.test/"]
    rule = {"pattern": "x", "action": "add", "amount": 1}
    last = {"action": "multiply", "amount": 0}
    rows = [
        ("name", dict(seeds=one, name="n" * 200),
         dict(seeds=one, name="n" * 201)),
        ("tags", dict(seeds=one, tags=[f"t{i}" for i in range(16)]),
         dict(seeds=one, tags=[f"t{i}" for i in range(17)])),
        ("tag", dict(seeds=one, tags=["t" * 64]),
         dict(seeds=one, tags=["t" * 65])),
        ("url_rules", dict(seeds=one, policy={"url_rules": [rule] * 999 +
                                              [last]}),
         dict(seeds=one, policy={"url_rules": [rule] * 1000 + [last]})),
        ("seeds", dict(seeds=["http://closed.test/%d" % i
                              for i in range(10000)],
                       policy={"limits": fine}),
         dict(seeds=["http://closed.test/%d" % i for i in range(10001)],
              policy={"limits": fine})),
    ]
    for name, at_edge, beyond in rows:
        m = t.c.ask("start_crawl", seconds=30, **at_edge)
        if t.check(f"{name} at its limit", m["success"], m):
            t.c.good("job.cancel", crawl_id=m["data"]["crawl_id"])
        m = t.c.ask("start_crawl", seconds=30, **beyond)
        t.check(f"{name} beyond it", m.get("code") in (
            "limit",) + (("bad_policy",) if "rules" in name else ()), m)


@case
def large_answers(t):
    """The rules of all clients say that no response is above 512 KiB."""
    def policy(last):
        return {"url_rules": [
            {"pattern": "x" * k, "action": "add", "amount": 1}
            for k in [4096] * 63 + [last]] +
            [{"action": "multiply", "amount": 0}]}

    t.c.good("policy.put", name="large", policy=policy(1))
    m = t.c.ask("policy.get", name="large")
    start = m["raw"].index(b'"policy":') + 9
    room = 256 * KIB - (m["raw"].index(b',"in_force"') - start) + 1
    one = ["http://closed.test/"]
    t.check("a policy of 256 KiB", t.c.ask(
        "policy.put", name="large", policy=policy(room))["success"])
    crawl = t.c.start(*one, policy=policy(room))
    m = t.c.ask("get_crawl", crawl_id=crawl)
    t.same("... is told whole", m["data"]["policy_json"]["url_rules"][63][
        "pattern"], "x" * room)
    for command, args in (("policy.put", {"name": "large"}),
                          ("start_crawl", {"seeds": one}),
                          ("schedule.put", {"name": "s", "seeds": one,
                                            "every": 1, "unit": "days"})):
        m = t.c.ask(command, policy=policy(room + 1), **args)
        t.check(f"{command}: a longer one", m.get("code") == "limit" and
                "policy is longer than 262144 bytes" in m["error"], m)
    for text, fine in (("x" * 4094, True), ("x" * 4095, False)):
        t.c.send("ping", command_id=text) if fine else t.c.send_text(
            '{"command":"ping","command_id":"%s"}' % text, None, "ping")
        m = t.c.await_response(text if fine else None)
        t.check(f"a command_id of {len(text) + 2} bytes", fine and
                m["success"] or m.get("code") == "limit", m)


@case
def subscriptions_max(t):
    subs = [t.c.stats(min_interval=5) for _ in range(256)]
    m = t.c.ask("subscribe_crawl_stats")
    t.same("the 257th", m.get("code"), "limit")
    t.c.good("unsubscribe", subscription_id=subs[0])
    t.check("one may follow one", t.c.ask("subscribe_crawl_stats")["success"])
    t.check("IDs are unique", len(set(subs)) == 256)


@case
def unsubscribe(t):
    other = t.server.client()
    mine, theirs = t.c.stats(), other.stats()
    t.check("IDs are the server's", mine != theirs)
    t.same("another's", t.c.bad("unsubscribe", subscription_id=theirs),
           "unknown_subscription")
    for form in (mine, str(mine), mine):
        t.same("mine, again and again", t.c.good(
            "unsubscribe", subscription_id=form)["subscription_id"], mine)
    t.same("nobody's", t.c.bad("unsubscribe", subscription_id=1 << 40),
           "unknown_subscription")
    other.close()


# ---- Tokens, drain -----------------------------------------------------------

def token_cli(s, *words):
    code, out, err = ours("token", *words, "--data", s.data)
    if code != 0:
        raise AssertionError(f"token {words}: {err}")
    return out.split()


def text_of(words):
    """The token among what `token add` prints: its longest word."""
    return max(words, key=len)


@case
def access(t):
    s = Server("tokens")
    both = Case(t.name, s, t.web)
    write = text_of(token_cli(s, "add", "w", "--scope", "realtime:write"))
    read = text_of(token_cli(s, "add", "r", "--scope", "realtime:read"))
    t.check("a token closes the door to others", wait_until(
        lambda: refused(both) == 401, 5))
    t.check("the other follows within a second or so", wait_until(
        lambda: refused(both, path=f"/?token={read}") == 101, 5))
    bearer = {"Authorization": f"Bearer {write}"}
    t.same("a wrong one", refused(both, path="/?token=wrong"), 401)
    t.same("a wrong bearer", refused(
        both, fields={"Authorization": "Bearer x"}), 401)
    w = s.client(fields=bearer)
    r = s.client(path=f"/?token={read}")
    t.same("any Origin with a token", refused(
        both, fields=bearer, origin="https://evil.example"), 101)
    crawl = w.start("http://closed.test/")
    t.check("reading with a read token", r.good("list_crawls")["total"] >= 1)
    n = r.read(crawl)
    t.check("... and subscribing", n is not None)
    for command, args in (("start_crawl", {"seeds": ["http://a.test/"]}),
                          ("job.start", {"seeds": ["http://a.test/"]}),
                          ("job.pause", {"crawl_id": crawl}),
                          ("job.cancel", {"crawl_id": crawl}),
                          ("job.delete", {"crawl_id": crawl}),
                          ("job.retry", {"crawl_id": crawl,
                                         "reason": "connect"}),
                          ("job.exclude", {"crawl_id": crawl,
                                           "pattern": "x"}),
                          ("policy.put", {"name": "a", "policy": {}}),
                          ("policy.delete", {"name": "a"}),
                          ("schedule.put", {"seeds": ["http://a.test/"],
                                            "name": "n", "every": 1,
                                            "unit": "days"}),
                          ("schedule.delete", {"schedule_id": 1})):
        t.same(f"{command} with a read token", r.bad(command, **args),
               "forbidden")
    token_cli(s, "revoke", "r")
    t.same("a revoked token's connection", r.closing(5), 1008)
    t.same("the other's goes on", w.good("ping"), {})
    t.same("a revoked token", refused(both, path=f"/?token={read}"), 401)
    w.close()
    s.stop()


@case
def tls(t):
    if shutil.which("openssl") is None:
        skip(t.name, "openssl is not installed")
        return
    crt, key = certificate("realtime")
    s = Server("tls", tls=(crt, key))
    trust = ssl.create_default_context(cafile=crt)

    async def talk():
        async with websockets.connect(f"wss://localhost:{s.port}/",
                                      ssl=trust) as ws:
            await ws.send('{"command":"list_crawls","command_id":"s"}')
            return json.loads(await ws.recv())

    t.same("wss is the same door", asyncio.run(talk())["data"],
           {"total": 0, "crawls": []})
    try:
        Client(s.port).close()
        t.check("ws is none there", False)
    except (Refused, Silent):
        t.check("ws is none there", True)
    s.stop()


@case
def drain(t):
    s = Server("drain", hosts={"a.test": t.web.port})
    gate = Gate(ok("slow"))
    t.web.put("a.test", "/", gate)
    c, idle = s.client(), s.client()
    crawl = c.start("http://a.test/", policy={"limits": {"timeout": 60}})
    n = c.read(crawl)
    wait_until(lambda: gate.waiting, 5)
    s.child.terminate()
    t.same("1001 at the end", (c.closing(), idle.closing()), (1001, 1001))
    gate.open()
    t.same("its exit code", s.child.wait(20), 0)
    s.start()
    c = s.client()
    c.ends(crawl)
    t.same("the crawl goes on in the next process",
           [i["url"] for i in c.crawl_items(crawl)], ["http://a.test/"])
    del n
    s.stop()


@case
def metrics(t):
    t.c.bad("nope")
    t.c.good("ping")
    t.c.stats()
    t.c.crawl_items(ended_crawl(t))
    labels = {"realtime_commands_total": {"command": "ping"},
              "realtime_subscriptions": {"kind": "stats"}}
    for name in ("realtime_connections", "realtime_subscriptions",
                 "realtime_commands_total", "realtime_events_total",
                 "realtime_event_latency_seconds_count",
                 "realtime_bytes_sent_total", "realtime_stalled_connections",
                 "realtime_closed_total", "realtime_subscriber_lag_items",
                 "realtime_frames_dropped_total"):
        # Some are set once a second.
        value = wait_until(lambda: t.server.metric(
            name, **labels.get(name, {})) is not None, 2)
        t.check(name, value)


# ---- All ---------------------------------------------------------------------

def fresh_server():
    """What only a server without crawls shows."""
    s = Server("fresh", hosts={"closed.test": closed_port()})
    c = s.client()
    n = c.stats()
    check("no crawl, no event", c.event(n, 0.5) is None)
    same("no crawl is listed", c.good("list_crawls"),
         {"total": 0, "crawls": []})
    same("the first crawl is 0", c.start("http://closed.test/"), 0)
    e = c.event(n)
    check("then comes the event", e and set(e["data"]) == {"0"}, e)
    s.stop()


def hostile(server):
    """Connections that only begin, or say nonsense, cost nobody anything."""
    held = []
    for data in (b"", b"GET / HTTP/1.1\r\n", b"\x16\x03\x01\x02\x00",
                 b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket"
                 b"\r\n", b"\0" * 100):
        s = socket.create_connection(("127.0.0.1", server.port))
        s.sendall(data)
        held.append(s)
    c = server.client()
    same("nonsense beside does not matter", c.good("ping"), {})
    rng = random.Random(5)
    good = bytes(masked(1, PING))
    for i in range(200):
        c2 = server.client()
        data = bytearray(good * 3)
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        c2.rules.asked.extend([("f", "", None)] * 9)
        c2.raw(bytes(data))
        c2.sock.close()
    same("... nor 200 broken frames", c.good("ping"), {})
    check("the daemon runs", server.runs(), server.said())
    for s in held:
        s.close()


def main():
    web = Web()
    hosts = {f"h{i}.test": web.port for i in range(1, HOSTS)}
    hosts["closed.test"] = closed_port()
    wanted = sys.argv[1:]
    server = Server("main", hosts=hosts)
    case.run(server, web, workers=4)
    if not wanted:
        fresh_server()
        hostile(server)
    rules_kept()
    same("SIGTERM ends the daemon", server.stop(), 0)
    done()


main()
