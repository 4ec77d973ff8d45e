/* Bodies for the fault loop that go through outcore/spill.h. */
#ifndef OUTCORE_TESTS_FAULT_SPILL_BODIES_H
#define OUTCORE_TESTS_FAULT_SPILL_BODIES_H

#include "fault/loop.h"

extern const fault_body fault_spill_bodies[];
extern const int32_t fault_n_spill_bodies;

/* A spill file of rows at `path`, for the bodies that read one. Failures end the test. */
void fault_make_spill_file(const char *path);

#endif /* OUTCORE_TESTS_FAULT_SPILL_BODIES_H */
