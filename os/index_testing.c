/*
 * index_testing -- RocksDB does not look whether it can read its options.
 *
 * It writes them into a file when an index is opened, and for each family of
 * a new one, and each time it reads that file again and compares.  In a test
 * that opens an index hundreds of times this is half of the work.  So the
 * symbol of the comparison is one that compares nothing.  A RocksDB that has
 * another symbol, or another processor, goes on comparing.
 */
#include <string.h>

/* rocksdb::Status: a caller gives the place, and zeros are "OK". */
#define STATUS_BYTES 16

#ifdef __x86_64__
void *options_are_fine(void *status) __asm__(
    "_ZN7rocksdb20RocksDBOptionsParser28VerifyRocksDBOptionsFromFileERKNS_13"
    "ConfigOptionsERKNS_9DBOptionsERKSt6vectorINSt7__cxx1112basic_stringIcSt11"
    "char_traitsIcESaIcEEESaISD_EERKS7_INS_19ColumnFamilyOptionsESaISI_EERKSD_"
    "PNS_10FileSystemE");

void *
options_are_fine(void *status)
{
	return memset(status, 0, STATUS_BYTES);
}
#endif
