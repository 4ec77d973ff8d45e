/* What hashed grouping costs per row, in memory and spilled.
 *
 *     group_bench [rows] [what] [limit in KiB, 0 = none] ...
 *
 *   pairs    DISTINCT of two int64 columns as l_orderkey, l_suppkey: nearly all rows are groups
 *   few      count and sum of 1000 groups
 *   many     sum of a sixteenth as many groups as rows, in random order
 *   texts    max of 10 KB strings, eight rows a group (rows / 100 of them)
 *
 * Per limit: seconds, ns per row, groups, rows and MiB spilled, and how far the resident set went above what it was
 * before, beside the limit. The input is made while it is read, which is counted apart and taken off. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bits.h"
#include "ops/group/group.h"

#define BATCH_ROWS 8192
#define TEXT_BYTES 10000

static uint64_t random_state;

static uint64_t next_random(void)
{
    random_state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = random_state;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static void check(oc_status status, const oc_error *err)
{
    if (status != OC_OK) {
        fprintf(stderr, "group_bench: %s\n", err->message);
        exit(1);
    }
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int64_t resident_peak(void)
{
    int64_t kib = 0;
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        (void)sscanf(line, "VmHWM: %" SCNd64, &kib);
    }
    if (file != NULL) {
        fclose(file);
    }
    return kib;
}

static void forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file != NULL) {
        fputs("5", file);
        fclose(file);
    }
}

/* ---- input ----------------------------------------------------------------------------------- */

typedef struct source {
    oci_stream base;
    const char *what;
    oci_mem *mem;
    int64_t rows;
    int64_t made;
    int64_t order;
    int64_t lines_left;
    int64_t ns;
} source;

static bool is_texts(const source *self)
{
    return strcmp(self->what, "texts") == 0;
}

static void fill_row(source *self, int64_t *a, int64_t *b)
{
    int64_t groups = strcmp(self->what, "few") == 0 ? 1000 : oci_max64(1, self->rows / 16);
    *b = (int64_t)(next_random() % 10000);
    if (strcmp(self->what, "pairs") != 0) {
        *a = (int64_t)(next_random() % (uint64_t)groups);
        return;
    }
    if (self->lines_left == 0) {
        self->order++;
        self->lines_left = 1 + (int64_t)(next_random() % 7);
    }
    self->lines_left--;
    *a = self->order;
}

static oc_status make_texts(source *self, int64_t n, oci_batch **out, oc_error *err)
{
    int64_t bytes = n * 8 + (n + 1) * 8 + n * TEXT_BYTES;
    void *slab;
    OC_TRY(oci_mem_alloc(self->mem, bytes, &slab, err));
    int64_t *keys = slab;
    int64_t *ends = keys + n;
    uint8_t *text = (uint8_t *)(ends + n + 1);
    ends[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        keys[i] = (int64_t)(next_random() % (uint64_t)oci_max64(1, self->rows / 8));
        ends[i + 1] = ends[i] + TEXT_BYTES;
        memset(text + ends[i], 'a' + (int)(next_random() % 26), TEXT_BYTES);
        memcpy(text + ends[i], &keys[i], sizeof keys[i]);
    }
    oci_column *columns = calloc(2, sizeof *columns);
    columns[0] = (oci_column){
        .field = &self->base.schema->fields[0], .length = n, .values = (uint8_t *)keys};
    columns[1] = (oci_column){.field = &self->base.schema->fields[1],
                              .length = n,
                              .values = (uint8_t *)ends,
                              .bytes = text};
    return oci_batch_adopt(self->base.schema, n, columns, self->mem, slab, bytes, NULL, 0, out,
                           err);
}

static oc_status make_ints(source *self, int64_t n, oci_batch **out, oc_error *err)
{
    int64_t bytes = n * 16;
    void *slab;
    OC_TRY(oci_mem_alloc(self->mem, bytes, &slab, err));
    int64_t *values = slab;
    for (int64_t i = 0; i < n; i++) {
        fill_row(self, &values[i], &values[n + i]);
    }
    oci_column *columns = calloc(2, sizeof *columns);
    for (int c = 0; c < 2; c++) {
        columns[c] = (oci_column){.field = &self->base.schema->fields[c],
                                  .length = n,
                                  .values = (uint8_t *)(values + c * n)};
    }
    return oci_batch_adopt(self->base.schema, n, columns, self->mem, slab, bytes, NULL, 0, out,
                           err);
}

static oc_status source_next(oci_stream *stream, oci_batch **out, oc_error *err)
{
    source *self = (source *)stream;
    int64_t start = now_ns();
    int64_t n = oci_min64(is_texts(self) ? 4 : BATCH_ROWS, self->rows - self->made);
    *out = NULL;
    if (n > 0) {
        self->made += n;
        OC_TRY(is_texts(self) ? make_texts(self, n, out, err) : make_ints(self, n, out, err));
    }
    self->ns += now_ns() - start;
    return OC_OK;
}

static void source_close(oci_stream *stream)
{
    (void)stream;
}

static void open_source(source *self, const char *what, int64_t rows, oci_budget *budget)
{
    oc_error err = {0};
    oci_field *fields = calloc(2, sizeof *fields);
    for (int c = 0; c < 2; c++) {
        bool text = c == 1 && strcmp(what, "texts") == 0;
        fields[c] = (oci_field){.name = strdup(c == 0 ? "a" : "b"),
                                .type = text ? OCI_TYPE_LARGE_BINARY : OCI_TYPE_INT64};
        oci_field_set_width(&fields[c]);
    }
    *self = (source){.what = what, .rows = strcmp(what, "texts") == 0 ? rows / 100 : rows};
    self->base.next = source_next;
    self->base.close = source_close;
    check(oci_schema_create(fields, 2, NULL, 0, &self->base.schema, &err), &err);
    check(oci_mem_open(budget, "input", &self->mem, &err), &err);
    random_state = 1;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static oci_group_plan plan_for(const char *what)
{
    static const int32_t keys[] = {0, 1};
    static const oci_aggregate sums[] = {
        {.kind = OCI_AGG_SUM, .n_args = 1, .args = {1}, .filter = -1, .name = "sum"},
        {.kind = OCI_AGG_COUNT_STAR, .filter = -1, .name = "n"}};
    static const oci_aggregate max[] = {
        {.kind = OCI_AGG_MAX, .n_args = 1, .args = {1}, .filter = -1, .name = "max"}};
    if (strcmp(what, "pairs") == 0) {
        return (oci_group_plan){.keys = keys, .n_keys = 2};
    }
    bool texts = strcmp(what, "texts") == 0;
    return (oci_group_plan){
        .keys = keys, .n_keys = 1, .aggregates = texts ? max : sums, .n_aggregates = texts ? 1 : 2};
}

static void bench(const char *what, int64_t rows, int64_t limit)
{
    atomic_bool cancel = false;
    oci_progress progress;
    oci_env env = {.io = oci_posix_io(),
                   .threads = oci_system_threads(),
                   .clock = oci_system_clock(),
                   .cancel = &cancel,
                   .progress = &progress,
                   .n_threads = 1,
                   .batch_rows = BATCH_ROWS};
    oci_spill_manager *manager;
    oci_spill_settings settings = {
        .folders = (const char *[]){"/tmp"}, .n_folders = 1, .codec = OCI_CODEC_LZ4_FRAME};
    oc_error err = {0};
    memset(&progress, 0, sizeof progress);
    malloc_trim(0);
    forget_peak();
    int64_t resident = resident_peak();
    check(oci_budget_create(limit == 0 ? INT64_C(8) << 30 : limit, NULL, &env.budget, &err), &err);
    check(oci_spill_manager_create(env.io, &settings, &manager, &err), &err);
    source input;
    oci_stream *grouped;
    open_source(&input, what, rows, env.budget);
    oci_group_plan plan = plan_for(what);
    int64_t start = now_ns();
    check(oci_group_hashed_open(&env, manager, &input.base, &plan, &grouped, &err), &err);
    int64_t groups = 0;
    for (;;) {
        oci_batch *batch;
        check(oci_stream_next(grouped, &batch, &err), &err);
        if (batch == NULL) {
            break;
        }
        groups += batch->length;
        oci_batch_release(batch);
    }
    int64_t ns = now_ns() - start - input.ns;
    printf("%-6s %8" PRId64 " KiB %8.3f s %7.1f ns/row %9" PRId64 " groups, spilled %9" PRId64
           " rows %8.1f MiB in %6" PRId64 " runs, resident %+" PRId64 " KiB of the limit\n",
           what, limit / 1024, (double)ns / 1e9, (double)ns / (double)input.rows, groups,
           atomic_load(&manager->counters.spilled_rows),
           (double)atomic_load(&manager->counters.spilled_bytes) / 1048576.0,
           atomic_load(&manager->counters.spill_count),
           limit == 0 ? 0 : resident_peak() - resident - limit / 1024);
    oci_stream_close(grouped);
    oci_schema_release(input.base.schema);
    oci_mem_close(input.mem);
    oci_spill_manager_release(manager);
    oci_budget_destroy(env.budget);
}

int main(int argc, char **argv)
{
    int64_t rows = argc > 1 ? strtoll(argv[1], NULL, 10) : 6000000;
    const char *what = argc > 2 ? argv[2] : "pairs";
    if (argc <= 3) {
        bench(what, rows, 0);
        bench(what, rows, INT64_C(32) << 20);
    }
    for (int i = 3; i < argc; i++) {
        bench(what, rows, strtoll(argv[i], NULL, 10) * 1024);
    }
    return 0;
}
