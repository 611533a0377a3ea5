"""Reads the cells of an xlsx file's first sheet by the standard library."""
import io
import re
import xml.etree.ElementTree as xml
import zipfile

NS = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def place(name):
    """("AB12") is row 12, column 28."""
    letters, row = re.fullmatch("([A-Z]+)([0-9]+)", name).groups()
    column = 0
    for c in letters:
        column = 26 * column + ord(c) - 64
    return int(row), column


def cells(data):
    """[row, column, type, value] of each cell that is not empty; types are n,
    s, b and f, as openpyxl names them."""
    out = []
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        if book.testzip() is not None:
            raise ValueError("a damaged xlsx file")
        sheet = xml.fromstring(book.read("xl/worksheets/sheet1.xml"))
    for c in sheet.iter(NS + "c"):
        row, column = place(c.get("r"))
        v = c.find(NS + "v")
        if c.find(NS + "f") is not None:
            out.append([row, column, "f", c.find(NS + "f").text])
        elif c.get("t") == "inlineStr":
            text = "".join(t.text or "" for t in c.iter(NS + "t"))
            out.append([row, column, "s", text])
        elif c.get("t") == "b":
            out.append([row, column, "b", str(v.text == "1")])
        elif v is not None:
            out.append([row, column, "n", float(v.text)])
    return out
