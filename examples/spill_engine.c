/* An engine that brings its own operator and only spills with Outcore: counts and sums a million
 * payments by user, partition by partition.
 *
 *     spill_engine [FOLDER]
 *
 * Phase 1 puts each row into one of 8 partitions by a hash of its user, and each partition into a spill
 * file. Phase 2 reads one partition after the other and aggregates it in memory: rows of one user are
 * all in the same. Prints the groups, a sum that was also made on the way, and what was spilled. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <outcore/spill.h>

#define N_PARTITIONS 8
#define N_ROWS       1000000
#define BATCH_ROWS   512
#define N_USERS      50000

/* ---- Arrow arrays of two int64 columns ------------------------------------------------------- */

typedef struct rows {
    int64_t n;
    int64_t users[BATCH_ROWS];
    int64_t amounts[BATCH_ROWS];
    struct ArrowArray columns[2];
    struct ArrowArray *pointers[2];
    const void *buffers[2][2]; /* validity (none), values */
    const void *no_buffers[1];
} rows;

static void release_column(struct ArrowArray *column)
{
    column->release = NULL;
}

static void release_rows(struct ArrowArray *array)
{
    free(array->private_data);
    array->release = NULL;
}

/* Hands the rows out; they belong to the array then. */
static void export_rows(rows *r, struct ArrowArray *out)
{
    const int64_t *values[2] = {r->users, r->amounts};
    for (int i = 0; i < 2; i++) {
        r->buffers[i][1] = values[i];
        r->columns[i] = (struct ArrowArray){
            .length = r->n, .n_buffers = 2, .buffers = r->buffers[i], .release = release_column};
        r->pointers[i] = &r->columns[i];
    }
    *out = (struct ArrowArray){.length = r->n,
                               .n_buffers = 1,
                               .buffers = r->no_buffers,
                               .n_children = 2,
                               .children = r->pointers,
                               .release = release_rows,
                               .private_data = r};
}

static void release_schema(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

static struct ArrowSchema columns[2] = {
    {.format = "l", .name = "user", .release = release_schema},
    {.format = "l", .name = "amount", .release = release_schema},
};
static struct ArrowSchema *column_pointers[2] = {&columns[0], &columns[1]};
static struct ArrowSchema schema = {.format = "+s",
                                    .name = "",
                                    .n_children = 2,
                                    .children = column_pointers,
                                    .release = release_schema};

/* ---- phase 1: partition ---------------------------------------------------------------------- */

typedef struct partition {
    oc_spill_writer *writer;
    rows *pending; /* rows that make no batch yet */
    oc_spill_file *file;
} partition;

static oc_status append(partition *p, oc_error *error)
{
    struct ArrowArray batch;
    export_rows(p->pending, &batch);
    p->pending = NULL;
    return oc_spill_writer_append(p->writer, &batch, error);
}

static oc_status add_row(partition *p, int64_t user, int64_t amount, oc_error *error)
{
    if (p->pending == NULL) {
        p->pending = calloc(1, sizeof *p->pending);
        if (p->pending == NULL) {
            abort();
        }
    }
    rows *r = p->pending;
    r->users[r->n] = user;
    r->amounts[r->n++] = amount;
    return r->n < BATCH_ROWS ? OC_OK : append(p, error);
}

static uint64_t hash(int64_t user)
{
    uint64_t h = (uint64_t)user * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 29;
}

static oc_status partition_rows(oc_spill_manager *manager, partition *partitions, int64_t *sum,
                                oc_error *error)
{
    oc_status status = OC_OK;
    for (int i = 0; i < N_PARTITIONS && status == OC_OK; i++) {
        status = oc_spill_writer_create(manager, &schema, NULL, &partitions[i].writer, error);
    }
    uint64_t random = 1;
    for (int64_t i = 0; i < N_ROWS && status == OC_OK; i++) {
        random = random * UINT64_C(6364136223846793005) + 1;
        int64_t user = (int64_t)((random >> 33) % N_USERS);
        int64_t amount = (int64_t)((random >> 20) % 10000);
        *sum += amount;
        status = add_row(&partitions[hash(user) % N_PARTITIONS], user, amount, error);
    }
    for (int i = 0; i < N_PARTITIONS && status == OC_OK; i++) {
        partition *p = &partitions[i];
        status = p->pending == NULL ? OC_OK : append(p, error);
        if (status == OC_OK) {
            status = oc_spill_writer_finish(p->writer, &p->file, error);
        }
    }
    return status;
}

/* ---- phase 2: aggregate ---------------------------------------------------------------------- */

typedef struct totals {
    int64_t groups, rows, amount;
} totals;

/* One slot for each user that there can be: the smallest hash table of all. */
static void add_batch(const struct ArrowArray *batch, int64_t *counts, totals *t)
{
    const struct ArrowArray *user = batch->children[0];
    const struct ArrowArray *amount = batch->children[1];
    const int64_t *users = (const int64_t *)user->buffers[1] + user->offset;
    const int64_t *amounts = (const int64_t *)amount->buffers[1] + amount->offset;
    for (int64_t i = 0; i < batch->length; i++) {
        t->groups += counts[users[i]]++ == 0;
        t->amount += amounts[i];
    }
    t->rows += batch->length;
}

/* Its disk space is given back as it is read. */
static int aggregate(oc_spill_file *file, int64_t *counts, totals *t)
{
    oc_spill_read_options options = OC_SPILL_READ_OPTIONS_INIT;
    struct ArrowArrayStream stream;
    oc_error error;
    options.consume = true;
    if (oc_spill_file_read(file, NULL, &options, &stream, &error) != OC_OK) {
        fprintf(stderr, "spill_engine: %s\n", error.message);
        return 1;
    }
    struct ArrowArray batch;
    int code;
    while ((code = stream.get_next(&stream, &batch)) == 0 && batch.release != NULL) {
        add_batch(&batch, counts, t);
        batch.release(&batch);
    }
    if (code != 0) {
        fprintf(stderr, "spill_engine: %s\n", stream.get_last_error(&stream));
    }
    stream.release(&stream);
    return code != 0;
}

static int run(oc_spill_manager *manager, partition *partitions)
{
    oc_error error;
    totals t = {0};
    int64_t sum = 0;
    if (partition_rows(manager, partitions, &sum, &error) != OC_OK) {
        fprintf(stderr, "spill_engine: %s\n", error.message);
        return 1;
    }
    for (int i = 0; i < N_PARTITIONS; i++) {
        int64_t *counts = calloc(N_USERS, sizeof *counts);
        if (counts == NULL || aggregate(partitions[i].file, counts, &t) != 0) {
            free(counts);
            return 1;
        }
        free(counts);
    }
    oc_spill_metrics m;
    oc_spill_manager_metrics(manager, &m);
    printf("%lld rows, %lld groups, sum %lld (%s)\n", (long long)t.rows, (long long)t.groups,
           (long long)t.amount, t.amount == sum ? "as expected" : "WRONG");
    fprintf(stderr, "%lld bytes spilled as %lld, in %lld writes; %lld left\n",
            (long long)m.memory_bytes, (long long)m.disk_bytes, (long long)m.writes,
            (long long)m.disk_now);
    return t.amount == sum ? 0 : 1;
}

int main(int argc, char **argv)
{
    oc_spill_options options = OC_SPILL_OPTIONS_INIT;
    oc_spill_manager *manager;
    oc_error error;
    partition partitions[N_PARTITIONS] = {0};
    options.memory_limit = 64 << 20;
    options.temp_dirs = (const char *const *)(argv + 1);
    options.n_temp_dirs = (size_t)argc - 1;
    if (oc_spill_manager_create(&options, &manager, &error) != OC_OK) {
        fprintf(stderr, "spill_engine: %s\n", error.message);
        return 1;
    }
    int code = run(manager, partitions);
    for (int i = 0; i < N_PARTITIONS; i++) {
        oc_spill_writer_destroy(partitions[i].writer);
        oc_spill_file_release(partitions[i].file);
        free(partitions[i].pending);
    }
    oc_spill_manager_destroy(manager);
    return code;
}
