/*
 * rounds -- how often a test repeats itself, by seed, by size, at each moment.
 *
 * Sanitizers find by coverage, not by volume, and make each round ten times as
 * long: in their builds a test does a quarter of its rounds, or fewer where
 * they are hundreds.  The plain build does all of them.  What a test counts, to
 * show that it covers something, must hold in both.
 */
#ifndef TESTS_ROUNDS_H
#define TESTS_ROUNDS_H

#include "base/base.h"

/* The number of rounds to run out of `n`, at least 1. */
#define ROUNDS(n) (SANITIZED ? ((n) + 3) / 4 : (n))
/*
 * From one moment or seed to the next, where all of them are many.  What they
 * choose by remainders of 2 to 6 is met as evenly as by steps of 1.
 */
#define ROUNDS_STEP (SANITIZED ? 7u : 1u)

#endif
