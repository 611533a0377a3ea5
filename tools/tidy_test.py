"""Does tools/tidy find what it should?  One planted fault per rule.

Prints "ok" and "not ok" lines; exit code 1 when a fault was not found, or when
something was found in the tree without faults.
"""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

def header(folder, name, text=""):
    guard = f"{folder}_{name}_H".upper()
    return (f"/*\n * {name} -- an example.\n */\n#ifndef {guard}\n"
            f"#define {guard}\n{text}#endif\n")


CLEAN = {
    "tools/arrows.txt": "layer base:\nlayer os: base\nlayer room: base os\n"
                        "layer door: base os room\nonly <sys/*>: os\n"
                        "above door tests tests/*\npublic room: face.h\n"
                        "shared room: value.h\npulls room/face.h 1\n"
                        "public room: port.h\nhidden base\n"
                        "shows room/port.h: base/a.h\n",
    "base/DESIGN.md": "# base\n",
    "base/meson.build": "base = library('base', 'a.c')\n",
    "base/a.h": "/*\n * a -- an example.\n */\n#ifndef BASE_A_H\n"
                "#define BASE_A_H\n\n/* One. */\nint a_one(int);\n"
                "int a_two(void (*)(int), int);\n\n#endif\n",
    "base/a.c": '#include "base/a.h"\n\nint\na_one(int n)\n{\n'
                '\treturn n; /* strcpy(a, b) */\n}\n',
    "docs/connectors.md": "# A guide\n\n`base/a.c`, `a_one()`, `BASE_A_H`, [it]"
                          "(more/x.md#y), `build/x`, `base/NAME.c`, `x` and "
                          "[this](https://a.example/).\n",
    "docs/more/x.md": "# y\n",
    "os/DESIGN.md": "# os\n",
    "os/meson.build": "os = library('os', 'b.c')\n",
    "os/b.c": '#include "base/a.h"\n\n#include <sys/socket.h>\n',
    "room/DESIGN.md": "# room\n",
    "room/meson.build": "room = library('room', 'own.c')\n",
    "room/face.h": header("room", "face", '#include "room/value.h"\n'),
    "room/value.h": header("room", "value"),
    "room/port.h": header("room", "port", '#include "base/a.h"\n'),
    "room/own.h": header("room", "own"),
    "room/own.c": '#include "room/own.h"\n',
    "door/DESIGN.md": "# door\n",
    "door/meson.build": "door = library('door', 'door.c')\n",
    "door/door.c": '#include "room/face.h"\n#include "room/port.h"\n',
}

# What is changed in which file, and what must be found there.
FAULTS = [
    ("base/a.c", "int\na_one", "int \na_one", "white space"),
    ("base/a.c", "}\n", "}", "no newline"),
    ("base/a.c", "return n;", "return n;" + "\n" * 1001, "lines; split"),
    ("base/a.c", "strcpy(a, b)", "TODO later", "TODO without a reason"),
    ("base/a.c", "strcpy(a, b)", "see /w" + "ork/x", "one machine"),
    ("base/a.c", "/* strcpy", "/*" + " " * 80 + "x", "columns"),
    ("base/a.c", "return n;", "return atoi(n);", "atoi() is banned"),
    ("base/a.c", "return n;", 'return strchr("+,-", n) != NULL;',
     "with str_has_char()"),
    ("base/a.c", "return n;", 'return memchr("+,-", n, 3) != NULL;',
     "with str_has_char()"),
    ("base/a.c", "int\na_one", "int a_one", "begin a line"),
    ("base/a.c", "\treturn n;", "\tn++;\n" * 101, "lines in one function"),
    ("base/a.c", "return n;", 'return strstr(w->text, "disk") != NULL;',
     "words of a message"),
    ("base/a.h", "BASE_A_H", "A_H", "include guard should be BASE_A_H"),
    ("base/a.h", "a -- an", "an", "begins without"),
    ("base/a.h", "/* One. */\n", "", "a_one() has no comment"),
    ("base/a.c", '"base/a.h"', '"os/b.h"', "base may not include os"),
    ("base/a.c", "int\n", "#include <sys/stat.h>\n\nint\n",
     "<sys/stat.h> is for os only"),
    ("base/a.c", '"base/a.h"', '"bse/a.h"', "no such folder"),
    ("base/meson.build", "'a.c'", "", "no meson.build lists it"),
    ("os/c.h", "", "/*\n * c -- nothing.\n */\n#ifndef OS_C_H\n"
     "#define OS_C_H\n#endif\n", "nobody includes it"),
    ("base/DESIGN.md", None, None, "no DESIGN.md"),
    ("door/door.c", "room/face.h", "room/own.h", "own.h is private to room"),
    ("door/door.c", "room/face.h", "room/value.h",
     "value.h is private to room"),
    ("tests/t.c", "", '#include "room/own.h"\n', "own.h is private to room"),
    ("os/b.c", '"base/a.h"', '"room/own.h"', "own.h is private to room"),
    ("room/face.h", "value.h\"\n", 'value.h"\n#include "room/own.h"\n',
     "pulls in 2 headers"),
    ("room/value.h", "#endif", '#include "base/a.h"\n#endif',
     "face.h:1: shows base/a.h, which is hidden"),
    ("tools/arrows.txt", "shows room/port.h: base/a.h\n", "",
     "port.h:1: shows base/a.h, which is hidden"),
    ("door/meson.build", "'door.c'", "'door.c', '../room/own.c'",
     "source of another folder"),
    ("run", "", "#!/bin/bash\necho\n", "not executable"),
    ("tests/x.sh", "", "if true; then\n", "syntax error"),
    ("tools/x.py", "", "def f(:\n", "no Python"),
    ("docs/connectors.md", "more/x.md", "x.md", "the link x.md leads nowhere"),
    ("docs/connectors.md", "base/a.c", "base/q.c", "there is no base/q.c"),
    ("docs/connectors.md", "a_one()", "a_six()", "there is no a_six()"),
    ("docs/connectors.md", "BASE_A_H", "BASE_B_H", "there is no BASE_B_H"),
    ("docs/connectors.md", "`x`", "`struct x`", "there is no struct x"),
]


def findings(tree):
    with tempfile.TemporaryDirectory() as root:
        for path, text in tree.items():
            path = os.path.join(root, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as f:
                f.write(text)
        done = subprocess.run([sys.executable, os.path.join(HERE, "tidy"),
                               root], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


def main():
    failed = 0
    code, text = findings(CLEAN)
    if code != 0:
        print(f"not ok - a clean tree is clean\n{text}")
        failed += 1
    for path, old, new, want in FAULTS:
        tree = dict(CLEAN)
        if old is None:
            del tree[path]
        else:
            tree[path] = tree.get(path, "").replace(old, new) if old else new
        code, text = findings(tree)
        fine = want in text and code == 1
        print(f"{'ok' if fine else 'not ok'} - {path}: {want}")
        if not fine:
            print(text)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
