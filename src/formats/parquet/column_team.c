/* See column_team.h. The struct comes from malloc, one per file. */
#include "formats/parquet/column_team.h"

#include <stdlib.h>

#include "base/bits.h"

#define HELPERS_MAX 15

struct oci_parquet_column_team {
    int32_t n_helpers;
    oci_worker *helpers[HELPERS_MAX];
    oci_task tasks[HELPERS_MAX];
    /* The batch at hand. */
    oci_parquet_column_task *columns;
    int32_t *order; /* of the columns: the dearest first */
    int32_t n;
    int64_t rows;
    uintptr_t caller;
    _Atomic int32_t next;
};

oc_status oci_parquet_column_team_create(const oci_env *env, int32_t n_columns,
                                         oci_parquet_column_team **out, oc_error *err)
{
    oci_parquet_column_team *team = calloc(1, sizeof *team);
    int32_t *order = calloc((size_t)n_columns + 1, sizeof *order);
    if (team == NULL || order == NULL) {
        free(team);
        free(order);
        OC_FAIL(err, OC_ENOMEM, "could not open a Parquet file: out of memory");
    }
    team->order = order;
    int64_t wanted = oci_min64(oci_min64(env->n_threads, n_columns) - 1, HELPERS_MAX);
    for (int64_t i = 0; i < wanted; i++) {
        oc_status status = oci_worker_create(env->threads, &team->helpers[i], err);
        if (status != OC_OK) {
            oci_parquet_column_team_destroy(team);
            return status;
        }
        team->n_helpers++;
    }
    *out = team;
    return OC_OK;
}

void oci_parquet_column_team_destroy(oci_parquet_column_team *team)
{
    if (team == NULL) {
        return;
    }
    for (int32_t i = 0; i < team->n_helpers; i++) {
        oci_worker_destroy(team->helpers[i]);
    }
    free(team->order);
    free(team);
}

static void read_some(oci_parquet_column_team *team)
{
    for (;;) {
        int32_t at = atomic_fetch_add(&team->next, 1);
        if (at >= team->n) {
            return;
        }
        oci_parquet_column_task *task = &team->columns[team->order[at]];
        task->status = oci_parquet_column_reader_read(task->reader, team->rows, task->out,
                                                      &task->space, task->owner, &task->error);
    }
}

static void help(void *arg)
{
    oci_parquet_column_team *team = arg;
    oci_thread_go_by(team->caller);
    read_some(team);
    oci_thread_go_by(0);
}

/* By what the last batch took; insertion sort, as the order hardly changes. */
static void put_in_order(oci_parquet_column_team *team)
{
    for (int32_t i = 0; i < team->n; i++) {
        int64_t bytes = team->columns[i].reader->read_bytes;
        int32_t k = i;
        for (; k > 0 && team->columns[team->order[k - 1]].reader->read_bytes < bytes; k--) {
            team->order[k] = team->order[k - 1];
        }
        team->order[k] = i;
    }
}

void oci_parquet_column_team_read(oci_parquet_column_team *team, oci_parquet_column_task *tasks,
                                  int32_t n, int64_t rows)
{
    team->columns = tasks;
    team->n = n;
    team->rows = rows;
    team->caller = oci_thread_identity();
    atomic_store(&team->next, 0);
    put_in_order(team);
    for (int32_t i = 0; i < team->n_helpers; i++) {
        team->tasks[i] = (oci_task){.run = help, .arg = team};
        oci_worker_submit(team->helpers[i], &team->tasks[i]);
    }
    read_some(team);
    for (int32_t i = 0; i < team->n_helpers; i++) {
        oci_worker_wait(team->helpers[i], &team->tasks[i]);
    }
}
