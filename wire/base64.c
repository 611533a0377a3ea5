#include "wire/base64.h"

/*
 * Two letters for each of 4096 values of twelve bits: three bytes cost two
 * looks.  Made by the preprocessor, so that no thread has to make it first.
 */
#define PAIRS(c)                                                             \
	c "A" c "B" c "C" c "D" c "E" c "F" c "G" c "H"                       \
	c "I" c "J" c "K" c "L" c "M" c "N" c "O" c "P"                       \
	c "Q" c "R" c "S" c "T" c "U" c "V" c "W" c "X"                       \
	c "Y" c "Z" c "a" c "b" c "c" c "d" c "e" c "f"                       \
	c "g" c "h" c "i" c "j" c "k" c "l" c "m" c "n"                       \
	c "o" c "p" c "q" c "r" c "s" c "t" c "u" c "v"                       \
	c "w" c "x" c "y" c "z" c "0" c "1" c "2" c "3"                       \
	c "4" c "5" c "6" c "7" c "8" c "9" c "+" c "/"
static const char pairs[] =
	PAIRS("A") PAIRS("B") PAIRS("C") PAIRS("D") PAIRS("E") PAIRS("F")
	PAIRS("G") PAIRS("H") PAIRS("I") PAIRS("J") PAIRS("K") PAIRS("L")
	PAIRS("M") PAIRS("N") PAIRS("O") PAIRS("P") PAIRS("Q") PAIRS("R")
	PAIRS("S") PAIRS("T") PAIRS("U") PAIRS("V") PAIRS("W") PAIRS("X")
	PAIRS("Y") PAIRS("Z") PAIRS("a") PAIRS("b") PAIRS("c") PAIRS("d")
	PAIRS("e") PAIRS("f") PAIRS("g") PAIRS("h") PAIRS("i") PAIRS("j")
	PAIRS("k") PAIRS("l") PAIRS("m") PAIRS("n") PAIRS("o") PAIRS("p")
	PAIRS("q") PAIRS("r") PAIRS("s") PAIRS("t") PAIRS("u") PAIRS("v")
	PAIRS("w") PAIRS("x") PAIRS("y") PAIRS("z") PAIRS("0") PAIRS("1")
	PAIRS("2") PAIRS("3") PAIRS("4") PAIRS("5") PAIRS("6") PAIRS("7")
	PAIRS("8") PAIRS("9") PAIRS("+") PAIRS("/");

/* The last one or two bytes. */
static void
put_end(const unsigned char *p, size_t n, char *out)
{
	uint32_t v = (uint32_t)p[0] << 16 | (n > 1 ? (uint32_t)p[1] << 8 : 0);

	memcpy(out, pairs + 2 * (v >> 12), 2);
	out[2] = n > 1 ? pairs[2 * (v & 0xfff)] : '=';
	out[3] = '=';
}

/* Six bytes of the eight at p. */
static void
put_six(const unsigned char *p, char *out)
{
	uint64_t v = (uint64_t)p[0] << 56 | (uint64_t)p[1] << 48 |
	    (uint64_t)p[2] << 40 | (uint64_t)p[3] << 32 |
	    (uint64_t)p[4] << 24 | (uint64_t)p[5] << 16 |
	    (uint64_t)p[6] << 8 | p[7];

	memcpy(out, pairs + 2 * (v >> 52), 2);
	memcpy(out + 2, pairs + 2 * (v >> 40 & 0xfff), 2);
	memcpy(out + 4, pairs + 2 * (v >> 28 & 0xfff), 2);
	memcpy(out + 6, pairs + 2 * (v >> 16 & 0xfff), 2);
}

void
base64_put(struct buf *b, struct str s)
{
	const unsigned char *p = (const unsigned char *)s.p;
	char *out = buf_grow(b, BASE64_LENGTH(s.n));
	size_t i = 0;

	for (; i + 8 <= s.n; i += 6, out += 8)
		put_six(p + i, out);
	for (; i + 3 <= s.n; i += 3, out += 4) {
		uint32_t v = (uint32_t)p[i] << 16 | (uint32_t)p[i + 1] << 8 |
		    p[i + 2];
		memcpy(out, pairs + 2 * (v >> 12), 2);
		memcpy(out + 2, pairs + 2 * (v & 0xfff), 2);
	}
	if (i < s.n)
		put_end(p + i, s.n - i, out);
}

int
base64_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (ascii_is_digit(c))
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool
base64_read(struct buf *b, struct str s)
{
	uint32_t bits = 0;
	unsigned have = 0;

	if (s.n % 4 == 0)
		for (int i = 0; i < 2 && s.n > 0 && s.p[s.n - 1] == '='; i++)
			s.n--;
	if (s.n % 4 == 1)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		int value = base64_value(s.p[i]);
		if (value < 0)
			return false;
		bits = (bits << 6 | (uint32_t)value) & 0xffffff;
		have += 6;
		if (have >= 8) {
			have -= 8;
			buf_put_char(b, (char)(bits >> have & 0xff));
		}
	}
	return true;
}
