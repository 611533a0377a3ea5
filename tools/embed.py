#!/usr/bin/env python3
"""A file as the numbers of a C array.  usage: tools/embed.py FILE OUT"""
import sys

COLUMN = 16


def main():
    with open(sys.argv[1], "rb") as f:
        data = f.read()
    with open(sys.argv[2], "w", encoding="ascii") as out:
        for i in range(0, len(data), COLUMN):
            row = data[i:i + COLUMN]
            out.write("".join(f"{byte}," for byte in row) + "\n")


if __name__ == "__main__":
    main()
