#include <pthread.h>

#include "os/file_fake_own.h"

struct plan {
	uint64_t n, times;
	enum err e;
};

static struct {
	pthread_mutex_t lock;
	struct plan plans[FILE_CALLS];
	uint64_t calls[FILE_CALLS];
} f = { .lock = PTHREAD_MUTEX_INITIALIZER };

static enum err
due(struct plan *p)
{
	if (p->times == 0)
		return OK;
	if (p->n > 1) {
		p->n--;
		return OK;
	}
	if (p->times != FILE_FAULT_FOREVER)
		p->times--;
	return p->e;
}

enum err
file_fault_due(enum file_call call, bool *stopped)
{
	static const bool changes[FILE_CALLS] = {
		[FILE_CALL_WRITE] = true, [FILE_CALL_SYNC] = true,
		[FILE_CALL_CUT] = true, [FILE_CALL_ALLOCATE] = true,
		[FILE_CALL_RENAME] = true, [FILE_CALL_REMOVE] = true,
		[FILE_CALL_SYNC_DIR] = true, [FILE_CALL_MAKE_DIR] = true,
	};
	enum err stop = OK;

	pthread_mutex_lock(&f.lock);
	f.calls[call]++;
	enum err e = due(&f.plans[call]);
	if (changes[call]) {
		f.calls[FILE_CALL_CHANGE]++;
		stop = due(&f.plans[FILE_CALL_CHANGE]);
	}
	pthread_mutex_unlock(&f.lock);
	if (stopped != NULL)
		*stopped = stop != OK;
	return stop != OK ? stop : e;
}

void
file_fault(enum file_call call, uint64_t n, uint64_t times, enum err e)
{
	CHECK(call < FILE_CALLS && n > 0 && e != OK);
	pthread_mutex_lock(&f.lock);
	f.plans[call] = (struct plan){ n, times, e };
	pthread_mutex_unlock(&f.lock);
}

void
file_faults_end(void)
{
	pthread_mutex_lock(&f.lock);
	memset(f.plans, 0, sizeof(f.plans));
	pthread_mutex_unlock(&f.lock);
}

void
file_faults_reset(void)
{
	pthread_mutex_lock(&f.lock);
	memset(f.plans, 0, sizeof(f.plans));
	memset(f.calls, 0, sizeof(f.calls));
	pthread_mutex_unlock(&f.lock);
}

uint64_t
file_calls(enum file_call call)
{
	pthread_mutex_lock(&f.lock);
	uint64_t n = f.calls[call];
	pthread_mutex_unlock(&f.lock);
	return n;
}

/* --- the real disk behind the plan -------------------------------------- */

static enum err
faulty_open(const char *path, enum file_mode mode, int *fd)
{
	enum err e = file_fault_due(FILE_CALL_OPEN, NULL);

	*fd = -1;
	return e == OK ? file_real.open(path, mode, fd) : e;
}

static void
faulty_close(int fd)
{
	file_real.close(fd);
}

static enum err
faulty_read(int fd, uint64_t at, void *p, size_t n, size_t *got)
{
	enum err e = file_fault_due(FILE_CALL_READ, NULL);

	*got = 0;
	return e == OK ? file_real.read(fd, at, p, n, got) : e;
}

/* A failing write has written half. */
static enum err
faulty_write(int fd, uint64_t at, const void *p, size_t n)
{
	enum err e = file_fault_due(FILE_CALL_WRITE, NULL);
	enum err real = file_real.write(fd, at, p, e == OK ? n : n / 2);

	return e == OK ? real : e;
}

static enum err
faulty_allocate(int fd, uint64_t size)
{
	enum err e = file_fault_due(FILE_CALL_ALLOCATE, NULL);
	enum err real = file_real.allocate(fd, e == OK ? size : size / 2);

	return e == OK ? real : e;
}

static enum err
faulty_list(const char *path, struct arena *a, struct str **names, size_t *n)
{
	enum err e = file_fault_due(FILE_CALL_LIST, NULL);

	*n = 0;
	return e == OK ? file_real.list(path, a, names, n) : e;
}

/* A call that does nothing when it is planned to fail. */
#define FAULTY(name, call, parameters, arguments)                            \
	static enum err                                                       \
	faulty_##name parameters                                              \
	{                                                                     \
		enum err e = file_fault_due(FILE_CALL_##call, NULL);           \
									      \
		return e == OK ? file_real.name arguments : e;                \
	}

FAULTY(sync, SYNC, (int fd), (fd))
FAULTY(size, SIZE, (int fd, uint64_t *size), (fd, size))
FAULTY(cut, CUT, (int fd, uint64_t size), (fd, size))
FAULTY(rename_new, RENAME, (const char *from, const char *to), (from, to))
FAULTY(replace, RENAME, (const char *from, const char *to), (from, to))
FAULTY(remove, REMOVE, (const char *path), (path))
FAULTY(sync_dir, SYNC_DIR, (const char *path), (path))
FAULTY(make_dir, MAKE_DIR, (const char *path), (path))
FAULTY(free_bytes, FREE_BYTES, (const char *path, uint64_t *bytes),
    (path, bytes))

const struct file_table file_faulty = {
	faulty_open, faulty_close, faulty_read, faulty_write, faulty_sync,
	faulty_size, faulty_cut, faulty_allocate, faulty_rename_new,
	faulty_replace, faulty_remove, faulty_sync_dir, faulty_make_dir,
	faulty_list, faulty_free_bytes, NULL,
};
