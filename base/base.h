/*
 * base -- what every file of Argiope may use without asking.
 *
 * Nothing here does I/O.  CHECK() is for our own mistakes only and is always
 * on; an outsider's mistake is an `enum err` (base/err.h), an operator's is one
 * sentence at start.
 */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
/*
 * FREED(buf_free) struct buf b = BUF_INIT; -- b is freed where its block ends,
 * on every way out of it.  `fn` takes the variable's address.
 */
#define FREED(fn) __attribute__((cleanup(fn)))
#define NORETURN _Noreturn

/* 1 in a build by a sanitizer, which maps terabytes and takes its time. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* Columns of a table X(first, second, ...), as elements of an array. */
#define TABLE_FIRST(first, ...) first,
#define TABLE_SECOND(first, ...) TABLE_FIRST(__VA_ARGS__, 0)

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* The object of type `type` whose member `member` is at `ptr`. */
#define CONTAINER(ptr, type, member) \
	((type *)(void *)((char *)(ptr) - offsetof(type, member)))

/* Stop the program with file, line and the broken condition. */
NORETURN void check_failed(const char *file, int line, const char *cond);
#define CHECK(cond) \
	((cond) ? (void)0 : check_failed(__FILE__, __LINE__, #cond))

/*
 * Memory that cannot be had ends the program: every large use has a limit of
 * its own, so that a failure here is ours.  Sizes are checked for overflow.
 */
void *mem_new(size_t size);                       /* zeroed */
void *mem_array(size_t n, size_t size);           /* zeroed */
void *mem_resize(void *, size_t n, size_t size);  /* tail not zeroed */
/*
 * `p`, an array of `n` things of `*cap`, with room for one more: a full one is
 * doubled, an empty one gets `first`.  The tail is not zeroed.
 */
void *mem_room(void *p, size_t n, size_t *cap, size_t first, size_t size);
char *mem_copy_text(const char *);                /* NUL-terminated copy */
/* Free what `*pp` points to and empty it. */
#define mem_free(pp) (free(*(pp)), *(pp) = NULL)

/* Functions that have cut too many fingers do not compile. */
#define BANNED(f) f##_is_banned_see_base_base_h
#undef strcpy
#define strcpy(d, s) BANNED(strcpy)
#undef strcat
#define strcat(d, s) BANNED(strcat)
#undef strncpy
#define strncpy(d, s, n) BANNED(strncpy)
#undef strncat
#define strncat(d, s, n) BANNED(strncat)
#undef sprintf
#define sprintf(...) BANNED(sprintf)
#undef vsprintf
#define vsprintf(...) BANNED(vsprintf)
#undef strtok
#define strtok(s, d) BANNED(strtok)
#undef gets
#define gets(s) BANNED(gets)
#undef atoi
#define atoi(s) BANNED(atoi)
#undef atol
#define atol(s) BANNED(atol)

#endif
