/*
 * verb_table -- all verbs of the program, those of cli/ and `serve`.
 */
#ifndef DAEMON_VERB_TABLE_H
#define DAEMON_VERB_TABLE_H

/* Gives the table to verbs_use(). */
void verb_table_use(void);

#endif
