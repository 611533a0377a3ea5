"""What the scripts about exports share: exports, their forms, other tools."""
import csv
import html.parser
import io
import re

from peer import *

CONTROLS = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f]")


def export(form, *words):
    done = subprocess.run([program(), "archive", "export", form, *words],
                          capture_output=True)
    if done.returncode != 0:
        check(f"export {form}", False, done.stderr.decode())
    return done.stdout


def same_lines(name, got, want):
    """Lists of lines or rows; a failure shows the first that differs."""
    for i, (a, b) in enumerate(zip(got, want)):
        if a != b:
            return check(name, False, f"{i}: {a!r} is not {b!r}")
    return check(name, len(got) == len(want),
                 f"{len(got)} lines, not {len(want)}")


def module(name, what):
    try:
        return __import__(name, fromlist=["x"])
    except Exception as why:         # what it needs may be missing, too
        skip(what, f"no module {name}: {why}")
        return None


def read_csv(data):
    return list(csv.reader(io.StringIO(data.decode(), newline="")))


def written_csv(rows, dialect):
    """Lists as Python's csv module writes them."""
    out = io.StringIO(newline="")
    csv.writer(out, dialect).writerows(rows)
    return out.getvalue().encode()


# ---- html and xlsx ---------------------------------------------------------------

class Tables(html.parser.HTMLParser):
    """The texts of all cells, a list a row."""

    def __init__(self):
        super().__init__()
        self.rows, self.inside = [], False

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        self.inside = tag in ("td", "th")
        if self.inside:
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.rows[-1][-1] += data


def read_html(data):
    page = Tables()
    page.feed(data.decode())
    return page.rows


def shown_in_html(rows):
    return [[CONTROLS.sub("\ufffd", c) for c in row] for row in rows]


def unescaped(text):
    return re.sub("_x([0-9A-F]{4})_", lambda m: chr(int(m[1], 16)), text)


def cells_of(rows):
    """What a sheet should have of rows: [row, column, type, value]."""
    out = []
    for i, row in enumerate([list(rows[0])] + [list(r.values())
                                               for r in rows]):
        for k, v in enumerate(row):
            if isinstance(v, bool):
                out.append([i + 1, k + 1, "b", str(v)])
            elif isinstance(v, (int, float)):
                out.append([i + 1, k + 1, "n", float(f"{v:.16g}")])
            elif v not in (None, ""):
                out.append([i + 1, k + 1, "s", v])
    return out


def read_xlsx(openpyxl, book):
    """The same of a sheet, as openpyxl reads it."""
    sheet = openpyxl.load_workbook(io.BytesIO(book)).active
    return [[c.row, c.column, c.data_type,
             str(c.value) if c.data_type == "b" else
             float(c.value) if c.data_type == "n" else unescaped(c.value)]
            for line in sheet.iter_rows() for c in line
            if c.value is not None]
