"""Signing in by the external door: launch tickets, the popup from /login to the
closing page, tokens, CORS, and what strangers try, by raw HTTP against providers
of OAuth 2.0 and 1.0a.

usage: external_oauth.sh PROGRAM
"""
from concurrent.futures import ThreadPoolExecutor

from external_login_peer import *

need("external_oauth", "openssl")

LOGINS = 200


# ---- The way of a login -----------------------------------------------------------------

def one_login(s, acme, provider):
    browser = Browser("ada")
    a = acme.open(browser, "u1")
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(
        a.location).query))
    same("login: 302 to the provider", (a.status, a.location.split("?")[0]),
         (302, provider.base + "/authorize"))
    same("redirect_uri", query["redirect_uri"],
         s.base + "/external/social/oauth/callback")
    same("state has 256 bits", len(query["state"]), 43)
    same("PKCE", (query["code_challenge_method"],
                  len(query["code_challenge"])), ("S256", 43))
    check("no account is asked for", "prompt" not in query, query)
    same("oauthParameters in the address", query.get("tenant"), "t 1")
    check("the cookie", len(a.cookies) == 1 and re.fullmatch(
        r"argiope-login_[0-9a-f]{12}=[\w-]{43}; Path=/; Max-Age=600; "
        r"HttpOnly; SameSite=Lax", a.cookies[0]), a.cookies)
    same("302: its fields", (a.fields["Cache-Control"],
                             a.fields["Referrer-Policy"]),
         ("no-store", "no-referrer"))
    back = browser.get(a.location)
    end = browser.get(back.location)
    check("callback: the closing page", is_page(end, 200, "may close") and
          end.closes, (end.status, end.text))
    inner = base64.b64encode(hashlib.sha256(b"window.close()").digest())
    check("its script is allowed by its hash", f"script-src 'sha256-"
          f"{inner.decode()}'" in end.fields["Content-Security-Policy"])
    check("the title is escaped", "Social &lt;&amp;&gt;" in end.text,
          end.text)
    same("the cookie is gone", [k for k in browser.jar
                                if "login" in k[1]], [])
    t = acme.token("u1")
    said = t.json
    same("token: bare", (t.status, sorted(said)), (200, [
        "email_address", "expiry", "issued", "reported_name", "token",
        "user"]))
    same("token: user and account", (said["user"], said["reported_name"],
         said["email_address"]), ("ada", "N. ada", "ada@example.org"))
    check("token: a handle", said["token"].startswith("argt_"), said)
    check("token: ISO dates", all(re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", said[k])
        for k in ("issued", "expiry")), said)
    same("token: its type", t.fields["Content-Type"], "application/json")
    same("token: again the same", acme.token("u1").json, said)
    same("a ticket in the query", acme.token("u1", ticket=acme.ticket(
        "token", "u1")).json, said)
    a = acme.open(browser, "u1")
    check("a token stands: the closing page", is_page(a, 200) and a.closes
          and not a.cookies, (a.status, a.text))
    return said


def reset(s, acme, provider):
    browser = Browser("ada")
    first = acme.token("u1").json
    a = acme.open(browser, "u1", reset="1")
    check("reset: the account is asked for", a.status == 302 and
          "prompt=select_account" in a.location, a.location)
    denied("reset: the token is gone", acme.token("u1"), 404)
    check("reset: the tokens are revoked", wait_until(
        lambda: len(provider.revoked) > 0, 10))
    check("... the refresh token", "refresh" in provider.revoked[0])
    browser.get(browser.get(a.location).location)
    second = acme.token("u1").json
    check("reset: another handle", second["token"] != first["token"])
    a = acme.open(browser, "u1", reset="0")
    check("reset=0 is none", a.status == 200 and a.closes)


def account_switch(s, acme, provider):
    """Two logins of one user that overlap: the second one's account counts."""
    one, two = Browser("eve"), Browser("eve")
    began = [acme.open(b, "u9") for b in (one, two)]
    ends = [b.get(b.get(a.location).location)
            for b, a in zip((one, two), began)]
    same("two logins of a user end", [e.status for e in ends], [200, 200])
    first = acme.token("u9").json
    again, other = Browser("eve"), Browser("mallory")
    acme_open = lambda b: acme.open(b, "u9", "social", reset="1")
    acme_open(again)                 # It ends the token.
    began = [acme.open(b, "u9") for b in (again, other)]
    again.get(again.get(began[0].location).location)
    eve = acme.token("u9").json
    other.get(other.get(began[1].location).location)
    mallory = acme.token("u9").json
    same("another account signs in", (eve["reported_name"],
         mallory["reported_name"]), ("N. eve", "N. mallory"))
    check("... which ends the handle", len({first["token"], eve["token"],
          mallory["token"]}) == 3)
    before = len(provider.revoked)
    third = Browser("mallory")
    acme.token("u9", method="DELETE")
    wait_until(lambda: len(provider.revoked) > before, 10)
    acme.sign_in(third, "u9")


def same_account(s, acme, provider):
    one, two = Browser("kim"), Browser("kim")
    began = [acme.open(b, "u10") for b in (one, two)]
    one.get(one.get(began[0].location).location)
    first = acme.token("u10").json
    two.get(two.get(began[1].location).location)
    same("the same account signs in again: the same handle",
         acme.token("u10").json["token"], first["token"])


def clear(s, acme, provider):
    done_ = {"success": True, "payload": {}, "version": 0}
    before = len(provider.revoked)
    for what in ("clear", "clear again"):
        a = acme.token("u1", method="DELETE")
        same(what, (a.status, a.json), (200, done_))
        denied(what + ": no token", acme.token("u1"), 404)
    check("clear: the tokens are revoked", wait_until(
        lambda: len(provider.revoked) > before, 10))
    same("clear: of nobody", acme.token("nobody", method="DELETE").status,
         200)
    a = acme.sign_in(Browser("ada"), "u1")
    check("after that a login works", a.closes, a.text)


def expired(s, acme, provider):
    """A token that is not refreshed ends with the provider's."""
    provider.lifetime_s, provider.refreshes = 2, False
    began = time.time()
    acme.sign_in(Browser("ada"), "e1")
    provider.lifetime_s, provider.refreshes = 3600, True
    a = acme.token("e1")
    same("a short token", a.status, 200)
    ends = time.mktime(time.strptime(a.json["expiry"],
                                     "%Y-%m-%dT%H:%M:%SZ")) - time.timezone
    check("... its expiry", began <= ends <= began + 10, a.json["expiry"])
    check("... then there is none", wait_until(
        lambda: acme.token("e1").status == 404, 10))
    same("... and a login is one again", acme.open(Browser("ada"),
                                                   "e1").status, 302)


def oauth1(s, acme, provider):
    browser = Browser("ada1")
    a = acme.open(browser, "u1", "old")
    check("OAuth 1.0a: 302", a.status == 302 and a.location.startswith(
        provider.base + "/authorize?oauth_token=rt-"), (a.status, a.text,
                                                        a.location))
    check("OAuth 1.0a: the same cookie", len(a.cookies) == 1 and
          a.cookies[0].startswith("argiope-login_"), a.cookies)
    back = browser.get(a.location)
    refused("OAuth 1.0a: another browser", Browser().get(back.location), 403,
            "over")
    end = browser.get(back.location)
    check("OAuth 1.0a: the closing page", end.status == 200 and end.closes,
          end.text)
    said = acme.token("u1", "old").json
    same("OAuth 1.0a: token", (said["reported_name"], said["expiry"]),
         ("N. ada1", "9999-12-31T00:00:00Z"))
    refused("OAuth 1.0a: a token that was used",
            browser.get(back.location), 403, "over")
    a = acme.open(browser, "u2", "old")
    token_ = urllib.parse.parse_qs(urllib.parse.urlsplit(
        a.location).query)["oauth_token"][0]
    callback = s.base + "/external/old/oauth/callback"
    refused("OAuth 1.0a: the user says no", browser.get(
        f"{callback}?denied={token_}"), 403, "access_denied")
    refused("OAuth 1.0a: no request token", browser.get(
        callback + "?oauth_verifier=x"), 400, "state")


# ---- Refusals of /login ---------------------------------------------------------------------

def missing_names(s, acme):
    for call, see in (("login", refused), ("token", denied)):
        for name, change in (("uuid", {"uuid": None}),
                             ("subdomain", {"subdomain": None}),
                             ("uuid", {"uuid": ""}),
                             ("uuid", {"uuid": "a" * 257}),
                             ("uuid", {"uuid": "a\nb"}),
                             ("subdomain", {"subdomain": "\xff\n"})):
            url = acme.url(call, "u1", ticket=acme.ticket(
                "login" if call == "login" else "token", "u1"), **change) \
                if "uuid" not in change else \
                acme.url(call, change["uuid"], ticket=acme.ticket(
                    "login" if call == "login" else "token", "u1"))
            see(f"{call}: {change}", Browser().get(url), 400, name)
        see(f"{call}: uuid twice", Browser().get(acme.url(
            call, "u1", ticket=acme.ticket(call, "u1")) + "&uuid=u2"), 400,
            "twice")
        see(f"{call}: a subdomain that is no back end's", Browser().get(
            acme.url(call, "u1", subdomain="gamma", ticket=acme.ticket(
                call, "u1"))), 403, "subdomain")
        see(f"{call}: no such connector", Browser().get(acme.url(
            call, "u1", "nothing")), 404, "connector")
        see(f"{call}: a connector without OAuth", Browser().get(acme.url(
            call, "u1", "plain")), 404, "login")
    same("a uuid of 256 bytes", acme.token("a" * 256).status, 404)
    refused("oauthParameters: a wrong value", acme.open(
        Browser(), "u1", tenant="x" * 254), 400, "tenant")
    refused("oauthParameters: it is missing", acme.open(
        Browser(), "u1", "open", ticket=None, need=""), 400, "need")


def ticket_abuse(s, acme):
    key = KEYS["acme"]
    header = {"alg": "HS256", "typ": "JWT"}
    for call, see in (("login", refused), ("token", denied),
                      ("clear", denied)):
        method = "DELETE" if call == "clear" else "GET"
        claims = acme.claims(call, "t1")
        now = int(time.time())

        def ask(name, text, word):
            url = acme.url("login" if call == "login" else "token", "t1",
                           ticket=text)
            return see(f"{call}: a ticket with {name}", Browser().get(
                url, method, Referer=ORIGIN + "/"), 403, word)

        ask("nothing in it", None, "missing")
        ask("no signature", ".".join(ticket(key, **claims).split(".")[:2]) +
            ".", "ticket")
        ask("alg none", ticket(key, {"alg": "none"}, b"", **claims), "")
        ask("alg none, signed", ticket(key, {"alg": "none"}, **claims),
            "alg")
        ask("alg HS512", ticket(key, {"alg": "HS512"}, hmac.new(
            key, b"x", hashlib.sha512).digest(), **claims), "alg")
        ask("alg RS256", ticket(key, {"alg": "RS256"}, **claims), "alg")
        ask("crit", ticket(key, {**header, "crit": ["x"]}, **claims), "crit")
        ask("another key", ticket(b"x" * 32, **claims), "signature")
        ask("another back end's key", ticket(KEYS["beta"], **claims),
            "signature")
        for name, word, change in (
                ("another iss", "iss", {"iss": "beta"}),
                ("no iss", "iss", {"iss": None}),
                ("another aud", "aud", {"aud": "old"}),
                ("no aud", "aud", {"aud": None}),
                ("another sub", "sub", {"sub": "t2"}),
                ("another subdomain", "subdomain",
                 {"subdomain": "acme-2"}),
                ("another act", "act",
                 {"act": "token" if call != "token" else "login"}),
                ("an act that is none", "act", {"act": "x"}),
                ("a past exp", "exp", {"exp": now - 1}),
                ("an exp too far ahead", "exp", {"exp": now + 700}),
                ("no exp", "exp", {"exp": None}),
                ("no jti", "jti", {"jti": None})):
            ask(name, ticket(key, **{**claims, **change}), word)
        beta = Front(s, "beta")
        ask("another back end's name and key", beta.ticket(call, "t1"),
            "iss")
        ask("5,000 bytes", "a" * 5000, "ticket")
    a = Front(s, "keyless", origin=ORIGIN)
    refused("a back end without a key", Browser().get(a.url(
        "login", "t1", ticket=acme.ticket("login", "t1"))), 403, "ticket")
    t = acme.ticket("login", "t3")
    same("a ticket: its first use", acme.open(Browser(), "t3",
                                              ticket=t).status, 302)
    refused("... its second", acme.open(Browser(), "t3", ticket=t), 403,
            "used")
    jti = secrets.token_hex(8)
    same("a jti: its first use", acme.open(
        Browser(), "t3", ticket=acme.ticket("login", "t3", jti=jti)).status,
        302)
    refused("... in another ticket", acme.open(
        Browser(), "t3", ticket=acme.ticket("login", "t3", jti=jti)), 403,
        "used")
    beta = Front(s, "beta", origin="https://beta.example.org")
    same("... of another back end", beta.open(
        Browser(), "t3", ticket=beta.ticket("login", "t3", jti=jti)).status,
        302)
    t = acme.ticket("token", "t3")
    same("a ticket for tokens is good twice", [acme.token(
        "t3", ticket=t).status for _ in range(2)], [404, 404])


def not_navigations(s, acme):
    t = acme.ticket("login", "n1")
    browser = Browser("ada")
    a = acme.open(browser, "n1", ticket=t, method="HEAD")
    check("HEAD does nothing", (a.status, a.location, a.cookies, a.text) ==
          (200, None, [], ""), (a.status, a.location, a.cookies))
    for fields in ({"Sec_Fetch_Mode": "no-cors", "Sec_Fetch_Dest": "image"},
                   {"Sec_Fetch_Mode": "cors"},
                   {"Sec_Fetch_Mode": "same-origin"},
                   {"Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest":
                    "iframe"},
                   {"Sec_Fetch_Mode": "navigate", "Sec_Purpose":
                    "prefetch"}):
        a = acme.open(browser, "n1", ticket=t, fields=fields)
        refused(f"login: {fields}", a, 403, "window")
        same("... no cookie", a.cookies, [])
    a = acme.open(browser, "n1", ticket=t, fields={
        "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document",
        "Sec_Fetch_Site": "cross-site"})
    same("a navigation with the same ticket", a.status, 302)
    back = browser.get(a.location).location
    a = browser.get(back, "HEAD")
    same("HEAD of the callback does nothing", (a.status, a.text), (200, ""))
    check("... the login goes on", browser.get(back).closes)


def mailed_link(s, acme, provider):
    browser = Browser("victim")
    acme.sign_in(Browser("ada"), "m1")
    before, revoked = acme.token("m1").json, len(provider.revoked)
    asked = len(provider.of("authorize"))
    for referer in (None, "https://mail.example.org/inbox",
                    "https://acme.example.org.evil.example/",
                    s.base + "/"):
        t = acme.ticket("login", "m1", name="Ada <b>\u202e")
        a = acme.open(browser, "m1", ticket=t, referer=referer, reset="1",
                      tenant="t\"2")
        page = a.page
        check(f"from {referer}: the question", is_page(
            a, 200, "Social <&>", "acme", "m1", "Ada <b>", "close this "
            "window", "disconnected") and not a.closes and page.buttons == 1
            and a.location is None, (a.status, a.text))
    check("... its texts are escaped", "<b>" not in a.text, a.text)
    same("... nothing has changed", (acme.token("m1").json,
         len(provider.revoked), len(provider.of("authorize"))),
         (before, revoked, asked))
    fields = dict(page.fields)
    same("its button", {k: v for k, v in fields.items()
                        if k not in ("ticket", "confirm")},
         {"uuid": "m1", "subdomain": "acme", "reset": "1",
          "tenant": "t\"2"})
    cookie = next(c for c in a.cookies)
    check("its cookie", re.fullmatch(
        r"argiope-confirm_[0-9a-f]{12}=[\w-]{43}; Path=/; Max-Age=600; "
        r"HttpOnly; SameSite=Strict", cookie), a.cookies)

    def press(who, **change):
        return who.get(s.base + "/external/social/oauth/login?" +
                       urllib.parse.urlencode({**fields, **change}))

    for name, answer in (
            ("without the cookie", press(Browser("victim"))),
            ("with another value", press(browser, confirm="A" * 43)),
            ("with half a value", press(browser,
                                        confirm=fields["confirm"][:16])),
            ("with no value", press(browser, confirm="")),
            ("with a stranger's own value", press(
                browser, confirm=dict(acme.open(
                    Browser(), "m1", referer=None, reset="1").page.fields)[
                        "confirm"]))):
        check(f"the question again: {name}", answer.status == 200 and
              answer.page.buttons == 1 and not answer.location,
              (answer.status, answer.text))
    same("... nothing has changed still", (acme.token("m1").json,
         len(provider.revoked)), (before, revoked))
    a = press(browser)
    check("pressed: 302", a.status == 302 and "prompt=" in a.location,
          (a.status, a.text))
    check("... the token has ended", wait_until(
        lambda: len(provider.revoked) > revoked, 10))
    same("... its cookie, too", [c for c in a.cookies
                                 if "confirm" in c and "Max-Age=0" in c] != [],
         True)
    again = press(browser)
    check("pressed twice: the question, and no login",
          again.status == 200 and again.page.buttons == 1, again.status)
    browser.get(browser.get(a.location).location)
    same("the login has its parameter", provider.of("authorize")[-1][1][
        "tenant"], "t\"2")
    a = acme.open(browser, "m1", referer=None)
    check("a token stands: no question", a.status == 200 and a.closes)


# ---- The way back ----------------------------------------------------------------------------

def callbacks(s, acme, provider):
    callback = s.base + "/external/social/oauth/callback"

    def begin(who=None):
        browser = who or Browser("ada")
        a = acme.open(browser, "c" + secrets.token_hex(4))
        return browser, urllib.parse.parse_qs(urllib.parse.urlsplit(
            a.location).query)["state"][0], a.location

    def exchanged():
        return len(provider.of("token"))

    calls = exchanged()
    refused("no state", Browser().get(callback + "?code=x"), 400, "state")
    refused("a state of 1,025 bytes", Browser().get(
        callback + "?code=x&state=" + "a" * 1025), 400, "state")
    refused("a state of nobody", Browser().get(
        callback + "?code=x&state=" + "A" * 43), 403, "over")
    browser, state, location = begin()
    refused("no code", browser.get(f"{callback}?state={state}"), 400, "code")
    refused("state twice", browser.get(
        f"{callback}?code=x&state={state}&state={state}"), 400, "twice")
    refused("code twice", browser.get(
        f"{callback}?code=x&state={state}&code=y"), 400, "twice")
    refused("another browser", Browser().get(
        f"{callback}?code=x&state={state}"), 403, "over")
    mine, other, _ = begin()
    refused("another login's cookie", mine.get(
        f"{callback}?code=x&state={state}"), 403, "over")
    refused("another connector's callback", browser.get(callback.replace(
        "social", "open") + f"?code=x&state={state}"), 403, "over")
    same("... no code was exchanged", exchanged(), calls)
    back = browser.get(location).location
    end = browser.get(back)
    check("... and the login goes on", end.closes, (end.status, end.text))
    refused("the callback again", browser.get(back), 403, "over")
    same("... one exchange", exchanged(), calls + 1)

    browser, state, location = begin()
    back = browser.get(location).location
    jar = dict(browser.jar)
    browser.get(back)
    browser.jar = jar                # A copy of the cookie helps nobody.
    refused("a replayed state, code and cookie", browser.get(back), 403,
            "over")
    code = urllib.parse.parse_qs(urllib.parse.urlsplit(back).query)["code"][0]
    browser, state, _ = begin()
    refused("a replayed code", browser.get(
        f"{callback}?code={code}&state={state}"), 403, "invalid_grant")
    victim, state, location = begin()
    attacker = begin(Browser("mallory"))
    code = urllib.parse.parse_qs(urllib.parse.urlsplit(attacker[0].get(
        attacker[2]).location).query)["code"][0]
    refused("an attacker's code with the victim's state (PKCE)", victim.get(
        f"{callback}?code={code}&state={state}"), 403, "invalid_grant")

    calls = exchanged()
    browser, state, location = begin()
    back = browser.get(location).location
    for iss in ("https://other.example", provider.base + "/"):
        browser, state, location = begin()
        back = browser.get(location).location.replace(
            quote(provider.base), urllib.parse.quote(iss, safe=""))
        check("mix-up: iss is replaced", urllib.parse.quote(
            iss, safe="") in back, back)
        refused(f"mix-up: iss {iss}", browser.get(back), 403)
    same("... no code was exchanged", exchanged(), calls)
    browser, state, location = begin()
    back = re.sub(r"&iss=[^&]*", "", browser.get(location).location)
    check("no iss", browser.get(back).closes)

    for error, status in (("access_denied", 403),
                          ("temporarily_unavailable", 503),
                          ("invalid_scope", 502),
                          ("<script>alert(1)</script>", 502)):
        browser, state, location = begin()
        a = browser.get(callback + "?" + urllib.parse.urlencode({
            "error": error, "error_description": "<script>alert(2)</script>",
            "state": state}))
        refused(f"error={error}", a, status)
        check("... it is used up", browser.get(
            f"{callback}?code=x&state={state}").status == 403)
    for name, answer, status in (
            ("500", (500, {}, "hush-reply"), 503),
            ("no JSON", (200, {}, "hush-reply"), 502),
            ("a redirect", (302, {"Location": s.base + "/"}, ""), 502)):
        browser, state, location = begin()
        back = browser.get(location).location
        provider.reply = lambda n, answer=answer: answer if n == "token" \
            else None
        a = browser.get(back)
        provider.reply = None
        check(f"the provider answers with {name}", refused(
            f"... as {name}", a, a.status) and a.status >= 500 and
            "hush" not in a.text, (a.status, a.text))
        # Nothing is left of it.
    browser, state, location = begin()
    back = browser.get(location).location
    provider.reply = lambda n: (403, {}, {"error": "x"}) if n == "me" else None
    a = browser.get(back)
    provider.reply = None
    check("no profile: a refusal", a.status >= 400 and not a.closes,
          (a.status, a.text))


def redirect_uri(s, acme, provider):
    """No call may choose where it leads."""
    for more in ({"redirect_uri": "https://evil.example/"},
                 {"next": "https://evil.example/"},
                 {"tenant": "x&redirect_uri=https://evil.example/"}):
        a = acme.open(Browser(), "r1", **more)
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(
            a.location).query)
        same(f"no open redirect: {more}", (query["redirect_uri"],
             a.location.startswith(provider.base + "/")),
             ([s.base + "/external/social/oauth/callback"], True))
    browser = Browser()
    a = acme.open(browser, "r1", fields={"X_Forwarded_Host": "evil.example"})
    check("... nor a proxy's field", "evil" not in a.location, a.location)
    a = acme.open(browser, "r1", fields={"Host": f"localhost:{s.http_port}"})
    check("... nor Host", "localhost" not in a.location, a.location)
    a = acme.open(browser, "r1", fields={"Host": "evil.example"})
    refused("a Host that is not ours", a, 403, "Host")


# ---- Pages of other origins -------------------------------------------------------------------

def cors(s, acme):
    acme.sign_in(Browser("ada"), "o1")
    url = acme.url("token", "o1")
    own = {"Origin": ORIGIN}
    a = acme.token("o1", **own)
    same("the back end's origin: GET", (a.status, a.fields[
        "Access-Control-Allow-Origin"], "origin" in a.fields["Vary"]),
        (200, ORIGIN, True))
    for method in ("GET", "DELETE"):
        a = Browser().get(url, "OPTIONS", **own, **{
            "Access-Control-Request-Method": method,
            "Access-Control-Request-Headers": "authorization"})
        same(f"its preflight: {method}", (a.status, a.fields[
            "Access-Control-Allow-Origin"], a.fields[
            "Access-Control-Allow-Methods"]), (204, ORIGIN, method))
        check("... Authorization", "authorization" in a.fields[
            "Access-Control-Allow-Headers"])
        same("... no credentials", a.fields[
            "Access-Control-Allow-Credentials"], None)
    a = Browser().get(url, "OPTIONS")
    check("OPTIONS", a.status == 204 and "DELETE" in a.fields["Allow"],
          a.status)
    a = acme.token("nobody", **own)
    same("a refusal can be read, too", (a.status, a.fields[
        "Access-Control-Allow-Origin"]), (404, ORIGIN))
    for origin in ("https://beta.example.org", "https://evil.example", "null",
                   "http://acme.example.org", ORIGIN + ".evil.example",
                   "http://localhost:1"):
        for method in ("GET", "DELETE"):
            a = acme.token("o1", method=method, Origin=origin)
            check(f"the origin {origin}: {method}", a.status == 403 and
                  a.json["success"] is False and a.fields[
                  "Access-Control-Allow-Origin"] is None, (a.status, a.text))
            a = Browser().get(url, "OPTIONS", Origin=origin, **{
                "Access-Control-Request-Method": method})
            check("... its preflight", a.status != 200 and a.fields[
                "Access-Control-Allow-Origin"] is None and a.fields[
                "Access-Control-Allow-Methods"] is None,
                (a.status, a.text))
        a = acme.open(Browser(), "o1", "social", fields={"Origin": origin})
        same("... no field of /login", a.fields[
            "Access-Control-Allow-Origin"], None)
    same("the token is still there", acme.token("o1").status, 200)
    a = Browser().get(acme.url("login", "o1"), "OPTIONS", Origin=ORIGIN, **{
        "Access-Control-Request-Method": "GET"})
    check("no preflight for /login", a.status != 204 and a.fields[
        "Access-Control-Allow-Origin"] is None, a.status)


def other_back_ends(s, acme):
    beta = Front(s, "beta", origin="https://beta.example.org")
    acme.sign_in(Browser("ada"), "x1")
    handle = acme.token("x1").json["token"]
    denied("another back end: the same uuid", beta.token("x1"), 404)
    two = Front(s, "acme", "acme-2")
    denied("another subdomain: the same uuid", two.token("x1"), 404)
    denied("another connector: the same uuid", acme.token("x1", "old"), 404)
    foreign = Front(s, "beta", "acme")
    denied("another back end's ticket", foreign.token("x1"), 403, "iss")
    denied("... to clear", foreign.token("x1", method="DELETE"), 403, "iss")
    refused("... to sign in", foreign.open(Browser(), "x1"), 403, "iss")
    beta.sign_in(Browser("bea"), "x1")
    said = beta.token("x1").json
    same("another back end: its own token", said["reported_name"], "N. bea")
    beta.token("x1", method="DELETE")
    same("... which it ends alone", acme.token("x1").json["token"], handle)
    code, said = s.ask("POST", "/external/social/task", {
        "fid": "x1", "endpoint": "http://127.0.0.1:1/beta/x1",
        "params": {"kind": "a"}, "credential": {"oauth": {
            "user": "x1", "token": handle}}}, s.tokens["beta"])
    check("another back end's handle in a task", code >= 400, (code, said))


# ---- Many at once ------------------------------------------------------------------------------

def two_in_one_browser(s, acme):
    browser = Browser("ada")
    a, b = (acme.open(browser, u) for u in ("p1", "p2"))
    same("two popups: two cookies", len([k for k in browser.jar
                                         if "login" in k[1]]), 2)
    backs = []
    for popup, account in ((b, "eve"), (a, "ada")):
        browser.jar["127.0.0.1", "account"] = account
        backs.append(browser.get(popup.location).location)
    ends = [browser.get(x) for x in backs]
    check("... both close", all(e.closes for e in ends),
          [e.text for e in ends])
    same("... each with its user", [acme.token(u).json["user"]
                                    for u in ("p1", "p2")], ["ada", "eve"])
    a = acme.open(browser, "p3", referer=None)
    b = acme.open(browser, "p4", referer=None)
    for page, user in ((a, "p3"), (b, "p4")):
        fields = dict(page.page.fields)
        same("two questions: each goes on", browser.get(
            page.url.split("?")[0] + "?" + urllib.parse.urlencode(
                fields)).status, 302)


def many(s, acme):
    users = [f"w{i}" for i in range(LOGINS)]
    browsers = [Browser("account-" + u) for u in users]

    def each(call, *lists):
        with ThreadPoolExecutor(LOGINS) as pool:
            return list(pool.map(call, *lists))

    begun = each(lambda b, u: acme.open(b, u), browsers, users)
    same(f"{LOGINS} logins begin", {a.status for a in begun}, {302})
    backs = each(lambda b, a: b.get(a.location), browsers, begun)
    ends = each(lambda b, a: b.get(a.location), browsers, backs)
    same("... all end", {(e.status, e.closes) for e in ends}, {(200, True)})
    said = each(lambda u: acme.token(u).json, users)
    same("... each with its user", [(t["user"], t["reported_name"])
                                    for t in said],
         [("account-" + u, "N. account-" + u) for u in users])
    same("... with a token of its own", len({t["token"] for t in said}),
         LOGINS)


# ---- Tasks of users who sign in ---------------------------------------------------

def tasks(provider, redirects):
    """From the popup to documents, and to the end of both."""
    api, back = Granted(provider), Back()
    place = connectors("granted", api.connector(
        "whole", credential="oauth", oauth=provider.declared(), api={
            "url": api.base + "/{kind}", "label": "things", "items": "/items",
            "id": "/id", "auth": {"kind": "bearer"},
            "next": {"cursor": "/next", "parameter": "after"}}))
    s = daemon("granted", place, *api.settings[1::2],
               port=urllib.parse.urlsplit(back.base).port)
    acme = Front(s)
    redirects.add(s.base + "/external/whole/oauth/callback")

    def task(fid, oauth):
        return s.ask("POST", "/external/whole/task", {
            "fid": fid, "endpoint": f"{back.base}/acme/{fid}",
            "params": {"kind": "a"}, "credential": {"oauth": oauth}})

    acme.sign_in(Browser("ada"), "u1", "whole")
    granted = acme.token("u1", "whole").json
    code, said = task("g1", granted)
    check("a task with what /token answers", code == 200, (code, said))
    same("... is done", s.ends("g1", connector="whole"), "done")
    same("... with its documents", back.ids("g1"), list(range(1, 46)))
    same("... by the account's token", {provider.tokens[t]
                                        for t in api.tokens}, {"ada"})
    code, said = task("g2", {k: granted[k] for k in ("user", "issued")})
    same("a task by user and issued alone", (code, s.ends(
        "g2", connector="whole")), (200, "done"))
    api.delay_s = 2
    code, said = task("g3", granted)
    browser = Browser("mallory")
    acme.open(browser, "u1", "whole", reset="1")
    same("reset: a running task fails", s.ends("g3", connector="whole"),
         "failed")
    detail = back.of(STATUSES, "g3")[-1].status["detail"]
    check("... who must act", "config:" in detail and "sign in" in detail,
          detail)
    api.delay_s = 0
    code, said = task("g4", granted)
    same("the old handle is refused", code, 400)
    acme.sign_in(browser, "u1", "whole")
    second = acme.token("u1", "whole").json
    api.tokens.clear()
    code, said = task("g5", second)
    same("the new account's is done", s.ends("g5", connector="whole"),
         "done")
    same("... by its token", {provider.tokens[t] for t in api.tokens},
         {"mallory"})
    same("clear", acme.token("u1", "whole", "DELETE").status, 200)
    same("... refused, too", task("g6", second)[0], 400)
    check("no token in the log", "hush-" not in open(s.log).read())
    same("it ends", s.stop(), 0)


# ---- Switches and mounts ---------------------------------------------------------------------------

def compatible(s, acme):
    browser = Browser("ada")
    query = {"need": "n"}
    a = acme.open(browser, "k1", "open", ticket=None, **query)
    same("oauth_compat: /login without a ticket", a.status, 302)
    end = browser.get(browser.get(a.location).location)
    check("... closes", end.closes, end.text)
    t = acme.token("k1", "open", ticket=None)
    same("... /token", (t.status, t.json["user"]), (200, "ada"))
    refused("... a wrong ticket is refused", acme.open(
        browser, "k1", "open", ticket="x.y.z", **query), 403)
    same("... a good one is served", acme.token("k1", "open").status, 200)
    same("... DELETE", acme.token("k1", "open", method="DELETE",
                                  ticket=None).status, 200)
    a = acme.open(browser, "k1", "open", ticket=None, referer=None, **query)
    check("... a mailed link asks first", a.status == 200 and
          a.page.buttons == 1, a.status)
    denied("... another subdomain", Browser().get(acme.url(
        "token", "k1", "open", subdomain="gamma")), 403)
    log = open(s.log).read()
    check("... logged at the start", re.search(
        r"external.oauth_compat connectors=\S*open", log), log[:500])
    check("... and with each call", re.search(
        r"external.oauth_compat backend=acme connector=open call=clear "
        r"address=127.0.0.1", log))
    refused("no switch: a ticket is needed", acme.open(
        browser, "k1", ticket=None), 403, "missing")
    denied("... also for tokens", acme.token("k1", ticket=None), 403,
           "missing")


def compat_limit(place):
    s = daemon("limit", place, "external.oauth_compat=plain, open")
    acme = Front(s)
    for i in range(10):
        a = acme.token(f"l{i}", "open", ticket=None)
        if a.status != 404:
            check(f"call {i + 1} of a minute", False, (a.status, a.text))
    a = acme.token("l99", "open", ticket=None)
    denied("the 11th call of a minute", a, 429, "minute")
    check("... Retry-After", 0 < int(a.fields["Retry-After"]) <= 60,
          a.fields["Retry-After"])
    a = acme.open(Browser(), "l98", "open", ticket=None, need="n")
    refused("... /login, too", a, 429, "minute")
    check("... Retry-After", a.fields["Retry-After"])
    same("... with a ticket", acme.token("l1", "open").status, 404)
    same("... counted", s.metric("argiope_external_limits_total",
                                 limit="oauth_compat"), 2)
    same("it ends", s.stop(), 0)


def root_mount(place, provider, redirects):
    s = daemon("root", place, "external.root=social",
               "external.public_url=https://crawl.example.org")
    acme = Front(s)
    redirects.add("https://crawl.example.org/external/social/oauth/callback")
    browser = Browser("ada")
    a = acme.open(browser, "u1", path="/oauth/login",
                  fields={"Host": "crawl.example.org"})
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(
        a.location or "").query))
    same("root: 302, its Host admitted", (a.status, query.get(
        "redirect_uri")),
        (302, "https://crawl.example.org/external/social/oauth/callback"))
    check("https: the cookie", re.fullmatch(
        r"__Host-login_[0-9a-f]{12}=[\w-]{43}; Path=/; Max-Age=600; Secure; "
        r"HttpOnly; SameSite=Lax", a.cookies[0]), a.cookies)
    back = urllib.parse.urlsplit(browser.get(a.location).location)
    for path in ("/oauth/callback", back.path):
        end = browser.get(f"{s.base}{path}?{back.query}",
                          Host="crawl.example.org:443")
        if path == "/oauth/callback":
            check("root: the callback closes", end.closes, end.text)
        else:
            refused("root: once", end, 403, "over")
    t = acme.token("u1", path="/oauth/token", Host="crawl.example.org")
    same("root: token", (t.status, t.json["user"]), (200, "ada"))
    same("root: the same as by its name", acme.token("u1").json, t.json)
    same("root: clear", acme.token("u1", method="DELETE",
                                   path="/oauth/token").status, 200)
    a = acme.open(browser, "u1", fields={"Host": "evil.example"})
    refused("another Host", a, 403, "Host")
    denied("... of a token", acme.token("u1", Host="evil.example"), 403,
           "Host")
    same("... and ours is no host of the console", Browser().get(
        s.base + "/status", Host="crawl.example.org").status // 100, 4)
    code, o = s.ask("GET", "/external/social/object")
    same("object: oauth", o["payload"]["oauth"],
         "https://crawl.example.org/external/social/oauth")
    same("object: oauthParameters", o["payload"]["oauthParameters"],
         {"tenant": "t 1"})
    same("it ends", s.stop(), 0)


def with_tls(place, redirects):
    key, certificate = (os.path.join(PLACE, "tls-" + x)
                        for x in ("key.pem", "cert.pem"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
                    "-out", certificate, "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True,
                   capture_output=True)

    class Tls(Signing):
        tls = (certificate, key)
        context = ssl.create_default_context(cafile=certificate)

    s = daemon("tls", place, "http.tls_cert=" + certificate,
               "http.tls_key=" + key, make=Tls)
    redirects.add(s.base + "/external/social/oauth/callback")
    acme = Front(s)
    browser = Browser("ada", s.context)
    a = acme.open(browser, "u1")
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(
        a.location).query))
    same("TLS: redirect_uri", query["redirect_uri"],
         s.base + "/external/social/oauth/callback")
    check("TLS: the cookie", a.cookies[0].startswith("__Host-login_") and
          "; Secure;" in a.cookies[0], a.cookies)
    check("TLS: the closing page", browser.get(browser.get(
        a.location).location).closes)
    a = acme.open(browser, "u2", referer=None)
    check("TLS: the question's cookie", re.match(
        "__Host-confirm_.*; Secure; HttpOnly; SameSite=Strict",
        a.cookies[0]), a.cookies)
    same("TLS: pressed", browser.get(
        a.url.split("?")[0] + "?" + urllib.parse.urlencode(
            a.page.fields)).status, 302)
    same("it ends", s.stop(), 0)


def unconfigured(place):
    """Connectors without a client, and settings that are refused."""
    data = os.path.join(PLACE, "bare")
    for b in back_ends():
        token(data, b["name"])
    s = Signing("bare", place, "external.backends_file=" + private(
        "bare-backends.json", back_ends()))
    acme = Front(s)
    refused("no client", acme.open(Browser(), "u1"), 503, "clients_file")
    same("... tokens can be asked for", (acme.token("u1").status, acme.token(
        "u1", method="DELETE").status), (404, 200))
    s.stop()
    key = put("open.key", "k" * 32)
    os.chmod(key, 0o644)
    s = daemon("keyless", place, "secrets.key_file=" + key)
    acme = Front(s)
    refused("a key that others may read", acme.open(Browser(), "u1"), 503,
            "key")
    for method in ("GET", "DELETE"):
        denied(f"... {method} /token", acme.token("u1", method=method), 503,
               "key")
    s.stop()
    s = daemon("away", place)
    acme = Front(s)
    refused("a provider that is away: OAuth 1.0a", acme.open(
        Browser(), "u1", "away1"), 503)
    browser = Browser()
    a = acme.open(browser, "u1", "away2")
    state = urllib.parse.parse_qs(urllib.parse.urlsplit(
        a.location).query)["state"][0]
    refused("... OAuth 2.0", browser.get(
        f"{s.base}/external/away2/oauth/callback?code=x&state={state}"), 503)
    denied("... no token of it", acme.token("u1", "away2"), 404)
    s.stop()
    for name, setting, word in (
            ("a public_url with http", "external.public_url="
             "http://crawl.example.org", "public_url"),
            ("oauth_compat: no name", "external.oauth_compat=a b",
             "oauth_compat")):
        code, said, err = ours("serve", "--data", data, "--set",
                               f"http.listen=127.0.0.1:{fixed_port()}",
                               "--set", "urlfrontier.listen=", "--set",
                               setting)
        check(f"refused at the start: {name}", code == 78 and word in err,
              (code, err))


def conformance(s, connector):
    """`argiope external conformance --oauth` as the back end."""
    word = ["--crawler", f"{s.base}/external/{connector}", "--oauth",
            "--only", "oauth", "--only", "extensions/ticket-abuse",
            "--token-file", private("conformance-token", s.token),
            "--ticket-key-file", private("conformance-key", base64.b64encode(
                KEYS["acme"]).decode()),
            "--issuer", "acme", "--subdomain", "acme", "--origin", ORIGIN]
    code, said, err = ours("external", "conformance", *word)
    lines = said.splitlines()
    same(f"conformance of {connector}", (code, [x for x in lines if
         not x.startswith("PASS")]), (0, ["17 passed, 0 failed"]))
    check("... its checks", "PASS oauth/closing-page" in lines and
          "PASS extensions/ticket-abuse" in lines, (said, err))


def secrets_in_logs(s, provider):
    log = open(s.log).read()
    check("the log has the calls", re.search(
        r"external.oauth backend=acme connector=social call=callback "
        r"user_hash=[0-9a-f]{12} outcome=signed_in status=200", log),
        log[-500:])
    known = [c[2].get("code") for c in provider.of("token")] + \
        [c[1].get("state") for c in provider.of("authorize")] + \
        [c[2].get("code_verifier") for c in provider.of("token")]
    for name, texts in (("codes, states and verifiers", known),
                        ("secrets", ["hush-", "argt_", "eyJ", "?uuid",
                                     "ticket=", "code="])):
        found = [t for t in texts if t and t in log]
        same(f"the log has no {name}", found, [])
    for _, query, form, fields in provider.calls:
        if "Referer" in fields:
            check("no Referer reaches the provider", False, fields)
            break


def main():
    redirects = set()
    two, one = Provider2(lambda: redirects), Provider1()
    api, away = Api(), fixed_port()
    with_tenant = {"authorize": two.base + "/authorize?tenant={tenant}",
                   "parameters": {"tenant": "t 1"}}
    place = connectors(
        "connectors", api.connector("plain"),
        declare(api, "social", two.declared(**with_tenant)),
        declare(api, "open", two.declared(
            authorize=two.base + "/authorize?need={need}",
            parameters={"need": None})),
        declare(api, "old", one.declared(), "oauth1"),
        *(declare(api, name, {**p.declared(), **{
            k: f"http://127.0.0.1:{away}/{k}" for k in ("token", "request")
            if k in p.declared()}}, kind) for name, p, kind in (
                ("away1", one, "oauth1"), ("away2", two, "bearer"))))
    s = daemon("oauth", place, "external.oauth_compat=open")
    for name in ("social", "open", "old"):
        redirects.add(s.base + f"/external/{name}/oauth/callback")
    acme = Front(s)
    one_login(s, acme, two)
    reset(s, acme, two)
    clear(s, acme, two)
    account_switch(s, acme, two)
    same_account(s, acme, two)
    expired(s, acme, two)
    oauth1(s, acme, one)
    missing_names(s, acme)
    ticket_abuse(s, acme)
    not_navigations(s, acme)
    mailed_link(s, acme, two)
    callbacks(s, acme, two)
    redirect_uri(s, acme, two)
    cors(s, acme)
    other_back_ends(s, acme)
    two_in_one_browser(s, acme)
    many(s, acme)
    conformance(s, "social")
    compatible(s, acme)
    secrets_in_logs(s, two)
    check("metrics", s.metric("argiope_external_oauth_total",
                              outcome="signed_in") >= LOGINS)
    same("it ends", s.stop(), 0)
    tasks(two, redirects)
    compat_limit(place)
    root_mount(place, two, redirects)
    with_tls(place, redirects)
    unconfigured(place)
    done()


main()
