/*
 * external_try -- what a declared connector becomes, for scripts.
 *
 *     external_try FILE form
 *     external_try FILE object ENDPOINT
 *     external_try FILE order PARAMS
 *     external_try FILE documents        one per line, from standard input
 *
 * It prints JSON, or one fault a line and exits with 1.
 */
#include "base/arena.h"
#include "engine/external/external_connector.h"

#define FAULTS_MAX 10u

static void
print_buf(struct buf *b)
{
	printf("%s\n", buf_text(b));
	buf_free(b);
}

static void
print_wrong(void *arg, struct str name, struct str message)
{
	(void)arg;
	(void)name;
	printf("%.*s\n", STR_FMT(message));
}

static void
print_fault(void *arg, struct str pointer, struct str message)
{
	(void)arg;
	printf("%.*s %.*s\n", STR_FMT(pointer), STR_FMT(message));
}

static void
read_all(FILE *f, struct buf *out)
{
	char part[65536];
	size_t n;

	while ((n = fread(part, 1, sizeof(part), f)) > 0)
		buf_put(out, part, n);
}

static int
print_order(const struct external_connector *c, const char *params)
{
	const struct external_params_faults faults = { NULL, print_wrong,
		NULL };
	FREED(buf_free) struct buf normal = BUF_INIT;
	struct buf order = BUF_INIT;
	struct why w = WHY_INIT;
	yyjson_doc *doc = yyjson_read(params, strlen(params), 0);
	enum err e = external_params_check(c, yyjson_doc_get_root(doc),
	    &faults, &normal, NULL);

	yyjson_doc_free(doc);
	if (e != OK)
		return 1;
	if (external_order_make(c, buf_str(&normal), &order, &w) != OK) {
		printf("%s\n", w.text);
		return 1;
	}
	print_buf(&order);
	return 0;
}

static int
check_documents(const struct external_connector *c)
{
	FREED(buf_free) struct buf all = BUF_INIT;
	struct str line;
	int code = 0;

	read_all(stdin, &all);
	struct str rest = buf_str(&all);
	while (str_split(&rest, '\n', &line)) {
		if (line.n == 0)
			continue;
		yyjson_doc *doc = yyjson_read(line.p, line.n,
		    YYJSON_READ_BIGNUM_AS_RAW);
		if (!external_document_check(c, yyjson_doc_get_root(doc),
		    FAULTS_MAX, print_fault, NULL))
			code = 1;
		yyjson_doc_free(doc);
	}
	return code;
}

static int
print_what(const struct external_connector *c, const char *what,
    const char *word)
{
	struct external_object_options options = { .endpoint = str_of(word) };
	struct buf out = BUF_INIT;

	if (strcmp(what, "documents") == 0)
		return check_documents(c);
	if (strcmp(what, "order") == 0)
		return print_order(c, word);
	if (strcmp(what, "form") == 0)
		external_form_write(c, &out);
	else
		external_object_write(c, &options, &out);
	print_buf(&out);
	return 0;
}

int
main(int argc, char **argv)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct external_connector *c;
	struct why w = WHY_INIT;
	FILE *f = argc < 3 ? NULL : fopen(argv[1], "re");

	if (f == NULL) {
		fprintf(stderr, "usage: external_try FILE WHAT [WORD]\n");
		return 2;
	}
	read_all(f, &text);
	fclose(f);
	if (external_connector_load(buf_str(&text), argv[1], &c, &w) != OK) {
		printf("%s\n", w.text);
		return 1;
	}
	int code = print_what(c, argv[2], argc > 3 ? argv[3] : "");
	external_connector_free(&c);
	return code;
}
