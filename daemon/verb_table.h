/*
 * verb_table -- all verbs of the program, those of cli/ and `serve`, and its
 * doors.
 */
#ifndef DAEMON_VERB_TABLE_H
#define DAEMON_VERB_TABLE_H

/* Gives the tables of doors and verbs to those below who read them; before
 * anything else. */
void verb_table_use(void);

#endif
