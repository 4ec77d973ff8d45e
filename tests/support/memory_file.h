/* For tests: files that are memory, and an environment around them. Header only; each test uses
 * what it needs. */
#ifndef OUTCORE_TESTS_SUPPORT_MEMORY_FILE_H
#define OUTCORE_TESTS_SUPPORT_MEMORY_FILE_H

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"

/* ---- a file in memory ------------------------------------------------------------------------ */

typedef struct memory_file {
    oci_file file; /* first */
    char *data;    /* malloc'ed */
    int64_t size;
    int64_t at;       /* of the next read */
    int64_t read_max; /* bytes one read gives at most, 0 = any number */
    bool *closed;     /* set by close */
} memory_file;

static inline oc_status memory_read(oci_file *f, void *buf, int64_t size, int64_t *n_read,
                                    oc_error *err)
{
    memory_file *m = (memory_file *)f;
    (void)err;
    int64_t n = m->size - m->at < size ? m->size - m->at : size;
    n = m->read_max > 0 && n > m->read_max ? m->read_max : n;
    memcpy(buf, m->data + m->at, (size_t)n);
    m->at += n;
    *n_read = n;
    return OC_OK;
}

static inline oc_status memory_write(oci_file *f, const void *buf, int64_t size, oc_error *err)
{
    memory_file *m = (memory_file *)f;
    (void)err;
    m->data = realloc(m->data, (size_t)(m->size + size) + 1);
    memcpy(m->data + m->size, buf, (size_t)size);
    m->size += size;
    m->data[m->size] = '\0';
    return OC_OK;
}

static inline oc_status memory_close(oci_file *f, oc_error *err)
{
    memory_file *m = (memory_file *)f;
    (void)err;
    if (m->closed != NULL) {
        *m->closed = true;
    }
    free(m->data);
    free(m);
    return OC_OK;
}

static const oci_file_ops memory_file_ops = {
    .read = memory_read, .write = memory_write, .close = memory_close};

/* A copy of the text, to be read; or empty, to be written to. */
static inline memory_file *make_memory_file(const void *text, int64_t size)
{
    memory_file *m = calloc(1, sizeof *m);
    m->data = malloc((size_t)size + 1);
    if (size > 0) {
        memcpy(m->data, text, (size_t)size);
    }
    m->data[size] = '\0';
    m->size = size;
    m->file = (oci_file){.ops = &memory_file_ops, .name = (char *)(uintptr_t) "a.csv", .fd = -1};
    return m;
}

/* ---- an environment -------------------------------------------------------------------------- */

typedef struct test_env {
    oci_env env;
    oci_mem *mem;
    atomic_bool cancel;
} test_env;

/* allocator may be NULL. */
static inline oc_status test_env_try(test_env *t, int64_t limit, const oci_allocator *allocator,
                                     oc_error *err)
{
    memset(t, 0, sizeof *t);
    OC_TRY(oci_budget_create(limit, allocator, &t->env.budget, err));
    t->env.io = oci_posix_io();
    t->env.threads = oci_system_threads();
    t->env.clock = oci_system_clock();
    t->env.cancel = &t->cancel;
    t->env.n_threads = 1;
    t->env.batch_rows = 8192;
    return oci_mem_open(t->env.budget, "test", &t->mem, err);
}

static inline void test_env_deinit(test_env *t)
{
    oci_mem_close(t->mem);
    oci_budget_destroy(t->env.budget);
}

#endif /* OUTCORE_TESTS_SUPPORT_MEMORY_FILE_H */
