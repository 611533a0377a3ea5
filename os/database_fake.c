#include "os/database_fake.h"

#include <sqlite3.h>

#include "os/clock.h"
#include "os/file.h"

#define PATH_BYTES_MAX 512
/* Regions of a WAL's shared memory, of 32 KiB each. */
#define REGIONS_MAX 64
/* As SQLite's own files say of disks today. */
#define SECTOR_BYTES 4096
/* The Julian day of 1970-01-01, in milliseconds. */
#define JULIAN_1970_MS (INT64_C(24405875) * 8640000)

struct fake_file {
	sqlite3_file base;
	int fd;
	char *dir;                   /* its name there is not synced; or NULL */
	void *regions[REGIONS_MAX];
};

static struct fake_file *
file_of(sqlite3_file *f)
{
	return (struct fake_file *)(void *)f;
}

/* DISK_FULL has a code of its own; all others are `otherwise`. */
static int
code_of(enum err e, int otherwise)
{
	return e == OK ? SQLITE_OK : e == ERR_DISK_FULL ? SQLITE_FULL :
	    otherwise;
}

/* --- a file ------------------------------------------------------------- */

static int
free_regions(sqlite3_file *f, int removes)
{
	(void)removes;
	for (size_t i = 0; i < REGIONS_MAX; i++)
		mem_free(&file_of(f)->regions[i]);
	return SQLITE_OK;
}

static int
fake_close(sqlite3_file *f)
{
	file_close(&file_of(f)->fd);
	mem_free(&file_of(f)->dir);
	return free_regions(f, 0);
}

static int
fake_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
	size_t got = 0, want = (size_t)n;
	enum err e = file_read(file_of(f)->fd, (uint64_t)at, p, want, &got,
	    NULL);

	if (e != OK)
		return SQLITE_IOERR_READ;
	memset((char *)p + got, 0, want - got);
	return got == want ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int
fake_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
	return code_of(file_write(file_of(f)->fd, (uint64_t)at, p, (size_t)n,
	    NULL), SQLITE_IOERR_WRITE);
}

static int
fake_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	return code_of(file_cut(file_of(f)->fd, (uint64_t)size, NULL),
	    SQLITE_IOERR_TRUNCATE);
}

static int
fake_sync(sqlite3_file *f, int flags)
{
	struct fake_file *x = file_of(f);

	(void)flags;
	enum err e = file_sync(x->fd, NULL);
	if (e == OK && x->dir != NULL)
		e = file_sync_dir(x->dir, NULL);
	if (e == OK)
		mem_free(&x->dir);
	return code_of(e, SQLITE_IOERR_FSYNC);
}

static int
fake_size(sqlite3_file *f, sqlite3_int64 *size)
{
	uint64_t n = 0;
	enum err e = file_size(file_of(f)->fd, &n, NULL);

	*size = (sqlite3_int64)n;
	return code_of(e, SQLITE_IOERR_FSTAT);
}

static int
fake_lock(sqlite3_file *f, int level)
{
	(void)f, (void)level;
	return SQLITE_OK;
}

static int
fake_is_reserved(sqlite3_file *f, int *out)
{
	(void)f;
	*out = 0;
	return SQLITE_OK;
}

static int
fake_control(sqlite3_file *f, int op, void *arg)
{
	(void)f, (void)op, (void)arg;
	return SQLITE_NOTFOUND;
}

static int
fake_sector(sqlite3_file *f)
{
	(void)f;
	return SECTOR_BYTES;
}

/* A torn write leaves the bytes beside it alone. */
static int
fake_traits(sqlite3_file *f)
{
	(void)f;
	return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

/* Shared memory of a WAL; freed when the last connection closes. */
static int
fake_map(sqlite3_file *f, int region, int size, int extends,
    void volatile **out)
{
	struct fake_file *x = file_of(f);

	CHECK(region < REGIONS_MAX);
	if (x->regions[region] == NULL && extends)
		x->regions[region] = mem_new((size_t)size);
	*out = x->regions[region];
	return SQLITE_OK;
}

static int
fake_map_lock(sqlite3_file *f, int at, int n, int flags)
{
	(void)f, (void)at, (void)n, (void)flags;
	return SQLITE_OK;
}

static void
fake_barrier(sqlite3_file *f)
{
	(void)f;
}

static const sqlite3_io_methods methods = {
	.iVersion = 2, .xClose = fake_close, .xRead = fake_read,
	.xWrite = fake_write, .xTruncate = fake_truncate, .xSync = fake_sync,
	.xFileSize = fake_size, .xLock = fake_lock, .xUnlock = fake_lock,
	.xCheckReservedLock = fake_is_reserved, .xFileControl = fake_control,
	.xSectorSize = fake_sector, .xDeviceCharacteristics = fake_traits,
	.xShmMap = fake_map, .xShmLock = fake_map_lock,
	.xShmBarrier = fake_barrier, .xShmUnmap = free_regions,
};

/* --- files by name ------------------------------------------------------ */

static char *
dir_of(const char *path)
{
	const char *last = strrchr(path, '/');
	char *dir = mem_copy_text(last == NULL ? "." : path);

	if (last != NULL)
		dir[last - path] = '\0';
	return dir;
}

static int
fake_open(sqlite3_vfs *v, const char *path, sqlite3_file *f, int flags,
    int *out)
{
	struct fake_file *x = file_of(f);
	enum file_mode mode = (flags & SQLITE_OPEN_READONLY) != 0 ? FILE_READ :
	    (flags & SQLITE_OPEN_CREATE) != 0 ? FILE_CREATE : FILE_WRITE;

	(void)v;
	memset(x, 0, sizeof(*x));
	x->fd = -1;
	/* Those without a name are temporary; they stay in memory. */
	if (path == NULL || file_open(path, mode, &x->fd, NULL) != OK)
		return SQLITE_CANTOPEN;
	/* The database's own is made, with its name, before it is opened. */
	if (mode == FILE_CREATE && (flags & SQLITE_OPEN_MAIN_DB) == 0)
		x->dir = dir_of(path);
	x->base.pMethods = &methods;
	if (out != NULL)
		*out = flags;
	return SQLITE_OK;
}

static int
fake_delete(sqlite3_vfs *v, const char *path, int syncs)
{
	char *dir = dir_of(path);
	enum err e = file_remove(path, NULL);

	(void)v;
	int code = e == ERR_ABSENT ? SQLITE_IOERR_DELETE_NOENT :
	    SQLITE_IOERR_DELETE;
	if (e == OK && syncs)
		e = file_sync_dir(dir, NULL);
	mem_free(&dir);
	return code_of(e, code);
}

static int
fake_access(sqlite3_vfs *v, const char *path, int flags, int *out)
{
	int fd = -1;

	(void)v, (void)flags;
	*out = file_open(path, FILE_READ, &fd, NULL) == OK;
	file_close(&fd);
	return SQLITE_OK;
}

static int
fake_full_name(sqlite3_vfs *v, const char *path, int n, char *out)
{
	(void)v;
	return snprintf(out, (size_t)n, "%s", path) < n ? SQLITE_OK :
	    SQLITE_CANTOPEN;
}

/* The same in each run: it marks a WAL, and is no secret. */
static int
fake_random(sqlite3_vfs *v, int n, char *out)
{
	(void)v;
	memset(out, 1, (size_t)n);
	return n;
}

static int
fake_sleep(sqlite3_vfs *v, int us)
{
	(void)v;
	return us;
}

static int
fake_time(sqlite3_vfs *v, sqlite3_int64 *ms)
{
	(void)v;
	*ms = JULIAN_1970_MS + clock_wall().us / 1000;
	return SQLITE_OK;
}

static int
fake_error(sqlite3_vfs *v, int n, char *out)
{
	(void)v, (void)n, (void)out;
	return 0;
}

static sqlite3_vfs table = {
	.iVersion = 2, .szOsFile = sizeof(struct fake_file),
	.mxPathname = PATH_BYTES_MAX, .zName = "argiope-fake",
	.xOpen = fake_open, .xDelete = fake_delete, .xAccess = fake_access,
	.xFullPathname = fake_full_name, .xRandomness = fake_random,
	.xSleep = fake_sleep, .xCurrentTimeInt64 = fake_time,
	.xGetLastError = fake_error,
};

void
database_fake_use(bool fake)
{
	static sqlite3_vfs *real;

	if (real == NULL)
		real = sqlite3_vfs_find(NULL);
	CHECK(sqlite3_vfs_register(fake ? &table : real, 1) == SQLITE_OK);
	/* Its random numbers begin anew. */
	sqlite3_randomness(0, NULL);
}
