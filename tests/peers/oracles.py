"""The same questions to other people's libraries: robots.txt, URLs, domains.

Thousands of generated cases, the same for the same SEED.  Where a library
differs from us and no entry of KNOWN says why, the check fails and shows the
case.
"""
import random
import re

from peer import *

SEED = int(os.environ.get("SEED", "1"))
CASES = int(os.environ.get("CASES", "6000"))
PACKAGES = ("psl@1.15.0", "robots-parser@3.0.1", "tldts@7.5.4",
            "whatwg-url@14.2.0")

builds = os.path.dirname(os.environ.get("ARGIOPE_BUILD",
                                        os.path.dirname(program())))
asker = next((p for p in (os.environ.get("ASK", ""), builds +
                          "/tests/peers/ask") if os.access(p, os.X_OK)), None)
if asker is None:
    skip("oracles", "tests/peers/ask is not built")
    done()
need("oracles", "node", "npm")
tools = node_with("oracles-1", *PACKAGES)
if tools is None:
    skip("oracles", "the packages cannot be had from npm")
    done()
rng = random.Random(SEED)
note(f"SEED={SEED}")


# ---- Asking -----------------------------------------------------------------------

def answers(command, verb, cases):
    """One line for each case, a tuple of texts."""
    questions = "".join("\t".join([verb] + [x.encode().hex() for x in c]) +
                        "\n" for c in cases)
    with open("questions", "w") as f:
        f.write(questions)
    with open("questions") as f:
        said = subprocess.run(command, stdin=f, capture_output=True,
                              text=True, timeout=60)
    lines = said.stdout.splitlines()
    if len(lines) != len(cases):
        sys.exit(f"{command[0]} answers {len(lines)} of {len(cases)}: "
                 f"{said.stderr[-500:]}")
    return lines


def of_node(verb, cases):
    return answers(["node", HERE + "/oracles.js", tools], verb, cases)


def shown(answer):
    try:
        return bytes.fromhex(answer).decode(errors="replace")
    except ValueError:
        return answer


def compare(library, cases, ours, theirs, known):
    """`known`: [(name, test of a case)]; what they excuse is counted."""
    excused, left = {}, []
    for case, a, b in zip(cases, ours, theirs):
        if a == b:
            continue
        name = next((n for n, test in known if test(*case)), None)
        if name is None:
            left.append((len("".join(case)), case, shown(a), shown(b)))
        else:
            excused[name] = excused.get(name, 0) + 1
    left.sort()
    for _, case, a, b in left[:10]:
        note(f"{library}: {case!r}: ours {a!r}, theirs {b!r}")
    agreed = len(cases) - len(left) - sum(excused.values())
    note(f"{library}: {agreed} of {len(cases)} agree; excused: {excused}")
    check(f"{library}: no difference but known ones", not left, len(left))
    check(f"{library}: most cases agree", agreed > len(cases) * 0.8, agreed)


# ---- robots.txt -------------------------------------------------------------------

AGENTS = ["argiope", "Argiope", "ARGIOPE", "*", "*", "*", "otherbot",
          "argiope-news", "Googlebot"]
PIECES = ["/", "/", "a", "b", "ab", "private", "/a", "/b/", ".html", ".php",
          "?", "x=1", "&", "-", "_", "%20", "%C3%A9", "é", "=", "+", ":", "@",
          "(", "index"]
# With these a case is there for its own sake.
ODD = ["%7E", "~", "%2F", "%3A"]


def robots_path(wild, odd):
    pieces = PIECES + odd + (["*", "*", "*", "/*"] if wild else [])
    text = "/" + "".join(rng.choices(pieces, k=rng.randint(0, 4)))
    return text + ("$" if wild and rng.random() < 0.15 else "")


def in_some_case(word):
    return rng.choice([word, word, word, word.lower(), word.upper()])


def robots_group(agents, between, odd):
    space = ["", " ", " ", " ", "  ", "\t"]
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        yield (in_some_case("User-agent") + rng.choice([":", ":", " :"]) +
               rng.choice(space) + rng.choice(agents) +
               rng.choice([""] * 5 + [" ", "\t# who"]))
        if rng.random() < 0.1:
            yield rng.choice(["", "# comment"])
    for _ in range(rng.randint(0, 5)):
        if rng.random() < 0.1:
            yield rng.choice(["", "# comment"] + between)
        else:
            path = robots_path(True, odd) if rng.random() < 0.93 else ""
            yield (in_some_case(rng.choice(["Allow", "Disallow"])) + ":" +
                   rng.choice(space) + path +
                   rng.choice([""] * 6 + [" ", "  # why"]))
    if rng.random() < 0.6:
        yield ""


def robots_text():
    kind = rng.choice(["plain"] * 6 + ["odd", "prefix", "between"])
    agents = AGENTS + (["arg"] if kind == "prefix" else [])
    between = ["Crawl-delay: 3", "Sitemap: http://host/s.xml", "Foo: bar",
               "   "] if kind == "between" else []
    odd = ODD if kind == "odd" else []
    lines = [line for _ in range(rng.randint(1, 4))
             for line in robots_group(agents, between, odd)]
    return rng.choice(["\n", "\n", "\r\n"]).join(lines) + "\n", odd


def robots_target(patterns, odd):
    """Mostly one that a pattern of the file may match."""
    if patterns and rng.random() < 0.7:
        text = rng.choice(patterns).replace("$", "") or "/"
        text = re.sub(r"\*", lambda m: rng.choice(["", "a", "/x", ".html"]),
                      text) + rng.choice(["", "", "x", "/", "?y"])
    else:
        text = robots_path(False, odd)
    # As a URL parser leaves it.
    return "".join(c if ord(c) < 128 else
                   "".join(f"%{b:02X}" for b in c.encode()) for c in text)


def robots_cases(n):
    cases = []
    while len(cases) < n:
        body, odd = robots_text()
        patterns = re.findall(r"(?im)^(?:dis)?allow:[ \t]*(/[^\s#]*)", body)
        for _ in range(5):
            cases.append((body, "argiope", robots_target(patterns, odd)))
    return cases


def unreserved(body, agent, target):
    return re.search(r"~|%7e", body + target, re.I)


def reserved(body, agent, target):
    return re.search(r"%2f|%3a", body + target, re.I)


def other_lines(body, agent, target):
    return re.search(r"(?im)^(crawl-delay|sitemap|foo)|^ +\r?$", body)


def part_of_a_token(body, agent, target):
    return re.search(r"(?im)^user-agent *:\s*arg\s*($|#)", body)


def bracket(body, agent, target):
    return re.search(r"(?im)^(dis)?allow.*\(", body)


def empty_query(body, agent, target):
    return target.endswith("?")


def stars(body, agent, target):
    return re.search(r"\*(\*|\$?\s*(#|$))", body, re.M)


def empty_group(body, agent, target):
    """We are named, and all that is said to us is nothing."""
    rules = fresh = here = named = 0
    for line in body.splitlines():
        word, _, value = line.split("#")[0].partition(":")
        word, value = word.strip().lower(), value.strip().lower()
        if word == "user-agent":
            here = value == agent or (here and fresh)
            fresh, named = 1, named or here
        elif word in ("allow", "disallow"):
            fresh, rules = 0, rules + here
    return named and rules == 0


ROBOTS_PARSER = [
    # RFC 9309 section 2.2.2: "%7E" and "~" are one, since "~" is unreserved
    # (RFC 3986 section 2.3); the library compares them as they are written.
    ("unreserved characters", unreserved),
    # RFC 9309 section 2.2.2 wants reserved characters encoded before they are
    # compared, in rule and URL: "/" and "%2F" are one.
    ("reserved characters", reserved),
    # RFC 9309 section 2.2.2 matches the octets of the URI: "/a?" has a query
    # (RFC 3986 section 3.4), if an empty one.  The library drops its "?".
    ("an empty query", empty_query),
    # RFC 9309 section 2.2.1: the group of "*" is for whom no group is; one
    # that names us and has no rule is a group.  The library forgets it.
    ("a group without rules", empty_group),
    # RFC 9309 section 2.2.4: other records must not change how groups are
    # read.  The library ends the list of agents there.
    ("other lines among agents", other_lines),
]
PROTEGO = [
    ("reserved characters", reserved),
    # RFC 9309 section 2.2.2: octets as they are written; the library makes
    # "%28" of a bracket and counts three.
    ("a bracket", bracket),
    # RFC 9309 section 2.2.2: the match with the most octets counts; the
    # library does not count stars at the end, nor one behind another.
    ("stars that say nothing", stars),
    # RFC 9309 section 2.2.1: the whole product token must match; to the
    # library a beginning of it is enough, and the longest one counts.
    ("a part of the product token", part_of_a_token),
    ("other lines among agents", other_lines),
]
cases = robots_cases(CASES)
ours = [line.split()[0] for line in answers([asker], "robots", cases)]
check("robots: both answers occur often",
      min(ours.count("0"), ours.count("1")) > CASES / 10,
      f"{ours.count('0')} of {CASES} are refused")
compare("robots-parser", cases, ours, of_node("robots", cases),
        ROBOTS_PARSER)
python = python_with("protego-0.7.0", "protego==0.7.0")
if python is None:
    skip("protego", "it cannot be had from the package index")
else:
    with open("protego.py", "w") as f:
        f.write("import sys\nfrom protego import Protego\n"
                "for line in sys.stdin:\n"
                "    body, agent, target = [bytes.fromhex(x).decode() for x in"
                " line.rstrip('\\n').split('\\t')[1:]]\n"
                "    print(int(Protego.parse(body).can_fetch("
                "'http://host' + target, agent)))\n")
    os.rename("protego.py", "ask_protego.py")
    compare("protego", cases, ours, answers([python, "ask_protego.py"],
                                            "robots", cases), PROTEGO)

# ---- URLs -------------------------------------------------------------------------

SCHEMES = ["http:", "http:", "http:", "https:", "HTTP:", "ftp:", "ws:",
           "file:", "mailto:", "javascript:", "data:", "foo:", "", "", ""]
HOSTS = ["example.org", "EXAMPLE.Org", "a.b.c.d.e", "127.0.0.1", "127.1",
         "0x7f.1", "1.2.3.256", "256", "0", "[::1]", "[1:2::3]", "[::1",
         "[1:2:3:4:5:6:7:8:9]", "[::127.0.0.1]", "ex ample.org", "ex%41mple",
         "ex%00", "xn--mnchen-3ya.de", "münchen.de", "MÜNCHEN.DE", "日本.jp",
         "ｅｘａｍｐｌｅ.org", "faß.de", "a_b", "a-.b", "-a.b", "a..b", ".", "a.",
         "", "user@host", "user:pass@host", "u%40@host", "@host", ":@host",
         "a@b@c", "ex^ample", "ex|ample", "a<b", "%zz", "1.2.3", "1e3",
         "0300.0.0.1", "09.1", "1.2.3.4.5", "foo.0x4", "xn--", "xn--a"]
PORTS = [""] * 8 + [":", ":80", ":443", ":0", ":65535", ":65536", ":080",
                    ":8a", ":-1", ": 80"]
PATHS = ["", "/", "/a", "/a/b", "/a/../b", "/../..", "/./", "/a/.", "/a/..",
         "/%2e/%2E%2e/x", "/a//b", "//", "/a b", "/é", "/%", "/%4", "/%41",
         "/%c3%a9", "\\a\\b", "/a\\..\\b", "/C|/x", "/c:/..", "/a;p=1",
         "/<>\"`{}", "/^|[]", "/'", "/日本", "/a\tb", "/a\nb", "/~u", "/a@b",
         "/:", "/a:b", "/....", "/.%2e", "/\u00ad", "/\U0001f577"]
QUERIES = [""] * 4 + ["?", "?a=1", "?a=1&b=2", "?a b", "?é", "?%", "?'\"<>",
                      "?a?b", "?#", "?\\", "?{|}", "?^`", "?日本", "?a\tb"]
FRAGMENTS = [""] * 6 + ["#", "#a", "#a b", "#é", "#<>\"`", "##", "#a\nb"]
AROUND = [""] * 12 + [" ", "\t", "\n", "\x00", "\x1f", "\u00a0"]
BASES = ["http://example.org/dir/page?q#f", "https://host:8443/",
         "file:///c:/dir/x", "ftp://host/a/b", "foo://host/a/b", "mailto:x@y",
         "http://user:pw@host/a/b/c/"]
SLASHES = ["//"] * 8 + ["/", "", "///", "\\\\", "/\\", "////"]


def url_text():
    scheme = rng.choice(SCHEMES)
    text = rng.choice(QUERIES[4:] + PATHS + FRAGMENTS[6:]) \
        if scheme == "" and rng.random() < 0.5 else \
        rng.choice(SLASHES) + rng.choice(HOSTS) + rng.choice(PORTS)
    text = (rng.choice(AROUND) + scheme + text + rng.choice(PATHS) +
            rng.choice([""] * 2 + PATHS) + rng.choice(QUERIES) +
            rng.choice(FRAGMENTS) + rng.choice(AROUND))
    if rng.random() < 0.15 and text:
        at = rng.randrange(len(text))
        text = text[:at] + chr(rng.randrange(1, 127)) + text[at + 1:]
    return text


def file_colon(text, base=""):
    return re.search(r"file:", text + base, re.I) and \
        re.search(r"[A-Za-z](:|%3a)[^/\\]", text.split(":", 1)[-1], re.I)


WHATWG_URL = [
    # https://url.spec.whatwg.org/#shorten-a-urls-path: only a drive letter, two
    # characters, stays.  ada takes "a:b" for one.  file: is never fetched.
    ("a first segment like a:b in file:", file_colon),
]
cases = [(url_text(), rng.choice(BASES)) for _ in range(3 * CASES)]
cases += [(url_text(),) for _ in range(CASES)]
ours = answers([asker], "url", cases)
check("our two URL parsers agree", "differ" not in ours,
      [c for c, a in zip(cases, ours) if a == "differ"][:3])
check("URLs: both kinds occur often",
      CASES / 4 < ours.count("-") < 3 * CASES, ours.count("-"))
compare("whatwg-url", cases, ours, of_node("url", cases),
        WHATWG_URL)

# ---- Registrable domains -----------------------------------------------------------

LABELS = ["www", "a", "example", "x-y", "0", "foo", "xn--mnchen-3ya", "city",
          "com", "b"]
# Of the list's lasting part: its age is no difference.
SUFFIXES = ["com", "org", "net", "de", "uk", "co.uk", "org.uk", "ac.uk", "jp",
            "co.jp", "kawasaki.jp", "city.kawasaki.jp", "ck", "www.ck",
            "co.ck", "com.au", "id.au", "github.io", "com.br", "kobe.jp",
            "c.kobe.jp", "er", "np", "co.nz", "io", "us",
            "k12.ca.us", "ca.us", "xn--fiqs8s", "xn--p1ai", "xn--55qx5d.cn",
            "nosuchtld", "museum", "arpa", "in-addr.arpa", "no", "oslo.no"]


def host(suffixes):
    labels = rng.choices(LABELS, k=rng.randint(0, 3))
    return ".".join(labels + [rng.choice(suffixes)]) + \
        rng.choice([""] * 9 + ["."])


def a_dot_behind(name):
    return name.endswith(".")


cases = [(host(SUFFIXES),) for _ in range(CASES)]
compare("tldts", cases, answers([asker], "domain", cases),
        of_node("domain", cases), [])

# The whole list, the same one for both.
rules = json.loads(re.sub(r",\s*\]", "]", open(
    tools + "/node_modules/psl/data/rules.js").read().split(
        "export default", 1)[1].strip().rstrip(";")))
with open("list.dat", "w") as f:
    f.write("// ===BEGIN ICANN DOMAINS===\n" + "\n".join(rules) +
            "\n// ===END ICANN DOMAINS===\n")
names = [r.lstrip("*!.").encode("idna").decode() if not r.isascii() else
         r.lstrip("*!.") for r in rules]
cases = [(host(names),) for _ in range(CASES)]
compare("psl, by its own list", cases, answers([asker, "list.dat"], "domain",
                                               cases),
        of_node("list", cases), [])
done()
