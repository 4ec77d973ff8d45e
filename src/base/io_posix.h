/* Private to the POSIX files: for their test. */
#ifndef OUTCORE_BASE_IO_POSIX_H
#define OUTCORE_BASE_IO_POSIX_H

/* A read/write descriptor of a file in `folder` that has no name any more, for file systems
 * without O_TMPFILE. Returns -1 with errno. */
int oci_open_scratch_by_name(const char *folder);

#endif /* OUTCORE_BASE_IO_POSIX_H */
