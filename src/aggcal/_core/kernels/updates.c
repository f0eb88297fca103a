/* What is left of two matrices after pairs were asked: in doubles, and in floats where there are many
 * items. */
#include "shared.h"

#define EQUAL 1e-9 /* share of the best value within which another counts as equal, as for the caller */

#define REAL double
#define OF(name) name
#include "updates_rows.h"
#undef REAL
#undef OF

#define REAL float
#define OF(name) name##_single
#include "updates_rows.h"
