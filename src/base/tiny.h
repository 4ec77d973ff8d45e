/* Tiny limits for tests.
 *
 * A build with OUTCORE_TINY works with a few rows per block, three inputs per merge and small
 * buffers, so that small tests cross every boundary that otherwise needs millions of rows. Results
 * must be the same; `make tiny-test` runs the unit tests that way. */
#ifndef OUTCORE_BASE_TINY_H
#define OUTCORE_BASE_TINY_H

#ifdef OUTCORE_TINY
#define OCI_TINY(tiny, normal) (tiny)
#else
#define OCI_TINY(tiny, normal) (normal)
#endif

#endif /* OUTCORE_BASE_TINY_H */
