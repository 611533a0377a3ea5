/*
 * params_check -- an external object's form, and values for its parameters.
 *
 * A row of `parameters`, in the form that external objects use:
 *
 *     {"name":"since","display_name":"From","description":"","req":false,
 *      "type":"date","min":null,"max":null,"regex":null,"options":[],
 *      "restrictions":[{"rule":"lt","target":"until","message":"..."}]}
 *
 * A regex is one of JavaScript's, as `pattern` of JSON Schema has them, within
 * the limits of engine/schema.
 *
 * Thread: any; pure.
 * Source: external.md §9 for rows, types, values and restrictions; §15 for the
 * misspelt names.
 */
#ifndef CLI_SIMULATOR_PARAMS_CHECK_H
#define CLI_SIMULATOR_PARAMS_CHECK_H

#include <yyjson.h>

#include "base/arena.h"
#include "base/err.h"

#define PARAMS_MAX 200u
#define PARAM_FAULTS_MAX 50u

/* Sentences about parameters, each of which begins with the parameter. */
struct param_faults {
	struct str texts[PARAM_FAULTS_MAX];
	size_t n;
	struct arena *arena;
};

/*
 * Check the rows themselves; NULL and null are an empty form.  Errors: INPUT
 * with the place, such as parameters[2].type; FULL beyond PARAMS_MAX.
 */
MUST_USE enum err params_check_form(yyjson_val *rows, struct why *);
/*
 * Check values against rows that passed params_check_form(); `params` is an
 * object, or NULL: {}.  Parameters without a row are not looked at.  One fault
 * for each parameter, at most PARAM_FAULTS_MAX; texts in the arena.  True
 * when there is none.
 */
bool params_check(yyjson_val *rows, yyjson_val *params,
    struct param_faults *);

#endif
