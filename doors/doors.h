/*
 * doors -- the table of the doors that this build has: the rows of doors.txt
 * that meson's option `doors` lets in.
 *
 * Thread: any.
 */
#ifndef DOORS_DOORS_H
#define DOORS_DOORS_H

#include "server/door.h"

/*
 * Give the table to doors_use(), and make the scopes of doors that this build
 * lacks known too, because tokens outlive a change of the program.
 */
void doors_start(void);

#endif
