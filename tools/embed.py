#!/usr/bin/env python3
"""Files as the numbers of C arrays.

usage: tools/embed.py FILE OUT            the numbers alone
       tools/embed.py --arrays OUT FILE... an array file_<stem> for each
"""
import os
import sys

COLUMN = 16


def numbers(path):
    with open(path, "rb") as f:
        data = f.read()
    return "".join("".join(f"{byte}," for byte in data[i:i + COLUMN]) + "\n"
                   for i in range(0, len(data), COLUMN))


def array(path):
    stem = os.path.splitext(os.path.basename(path))[0]
    return (f"static const unsigned char file_{stem}[] = {{\n"
            f"{numbers(path)}}};\n")


def main():
    if sys.argv[1] == "--arrays":
        out, text = sys.argv[2], "".join(map(array, sys.argv[3:]))
    else:
        out, text = sys.argv[2], numbers(sys.argv[1])
    with open(out, "w", encoding="ascii") as f:
        f.write(text)


if __name__ == "__main__":
    main()
