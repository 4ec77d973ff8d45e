/* A disk of a given speed, for tests and measurements: wraps the file seam so that what is read and
 * written takes at least as long as it would there. Reads and writes of all files share the one
 * disk. What the real file system takes is part of that time, not on top of it. Thread-safe.
 * Production code never includes this header. */
#ifndef OUTCORE_BASE_THROTTLE_H
#define OUTCORE_BASE_THROTTLE_H

#include "base/io.h"

/* NULL when out of memory. `inner` and the result must outlive the files. */
const oci_io *oci_throttled_io(const oci_io *inner, int64_t bytes_per_second);
void oci_throttled_io_destroy(const oci_io *io); /* NULL is fine */

#endif /* OUTCORE_BASE_THROTTLE_H */
