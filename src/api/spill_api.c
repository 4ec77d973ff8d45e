/* Spill managers for other engines: options, counters, life. See outcore/spill.h. Managers and handles
 * come from malloc: a few hundred bytes for each. */
#include <stdlib.h>

#include "api/context.h"
#include "api/limits.h"
#include "api/spill_handles.h"
#include "api/spill_setup.h"

#define BLOCK_BYTES_DEFAULT ((int64_t)1 << 20)
#define BLOCK_BYTES_MIN     ((int64_t)4 << 10)
#define BLOCK_BYTES_MAX     ((int64_t)1 << 30)

static oci_spill_request spill_request(const oc_spill_options *options)
{
    return (oci_spill_request){
        .temp_dirs = options->temp_dirs,
        .n_temp_dirs = options->n_temp_dirs,
        .disk_limit = options->disk_limit,
        .codec = options->codec,
        .level = options->level,
        .encoding = options->encoding,
        .without_checksums = options->without_checksums,
        .encrypt = options->encrypt,
    };
}

static oc_status check_options(const oc_spill_options *options, oc_error *err)
{
    OC_TRY(oci_check_memory_limit(options->memory_limit, err));
    if (options->block_bytes < BLOCK_BYTES_MIN || options->block_bytes > BLOCK_BYTES_MAX) {
        OC_FAIL(err, OC_EINVAL, "block_bytes must be between 4 KiB and 1 GiB, not %" PRId64,
                options->block_bytes);
    }
    oci_spill_request request = spill_request(options);
    return oci_spill_check(&request, err);
}

static oc_status set_up(oc_spill_manager *manager, const oc_spill_options *options,
                        const oci_spill_seams *seams, oc_error *err)
{
    oci_env *env = &manager->env;
    env->io = seams->io != NULL ? seams->io : oci_posix_io();
    env->clock = seams->clock != NULL ? seams->clock : oci_system_clock();
    OC_TRY(oci_budget_create(options->memory_limit, seams->allocator, &env->budget, err));
    OC_TRY(oci_mem_open(env->budget, "spill writers", &manager->writing, err));
    OC_TRY(oci_mem_open(env->budget, "spill readers", &manager->reading, err));
    oci_spill_request request = spill_request(options);
    return oci_spill_set_up(env, &request, &manager->spill, err);
}

oc_status oci_spill_handle_create(const oc_spill_options *options, const oci_spill_seams *seams,
                                  oc_spill_manager **out, oc_error *err)
{
    oc_spill_options given = OC_SPILL_OPTIONS_INIT;
    if (options != NULL) {
        OC_TRY(oci_copy_options(&given, options, options->struct_size, sizeof given,
                                "spill options", err));
    }
    given.memory_limit = given.memory_limit == 0 ? oci_default_memory_limit() : given.memory_limit;
    given.block_bytes = given.block_bytes == 0 ? BLOCK_BYTES_DEFAULT : given.block_bytes;
    OC_TRY(check_options(&given, err));
    oc_spill_manager *manager = calloc(1, sizeof *manager);
    if (manager == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not create a spill manager: out of memory");
    }
    manager->block_bytes = given.block_bytes;
    manager->keep_batches = given.keep_batches;
    atomic_init(&manager->references, 1);
    oc_status status = set_up(manager, &given, seams, err);
    if (status != OC_OK) {
        oci_spill_handle_release(manager);
        return status;
    }
    *out = manager;
    return OC_OK;
}

oc_status oc_spill_manager_create(const oc_spill_options *options, oc_spill_manager **out,
                                  oc_error *error)
{
    oci_spill_seams seams = {0};
    return oci_spill_handle_create(options, &seams, out, error);
}

oc_spill_manager *oci_spill_handle_retain(oc_spill_manager *manager)
{
    atomic_fetch_add(&manager->references, 1);
    return manager;
}

void oci_spill_handle_release(oc_spill_manager *manager)
{
    if (manager == NULL || atomic_fetch_sub(&manager->references, 1) != 1) {
        return;
    }
    oci_mem_close(manager->writing);
    oci_mem_close(manager->reading);
    oci_spill_manager_release(manager->spill);
    oci_budget_destroy(manager->env.budget);
    free(manager);
}

void oc_spill_manager_destroy(oc_spill_manager *manager)
{
    oci_spill_handle_release(manager);
}

void oc_spill_manager_metrics(const oc_spill_manager *manager, oc_spill_metrics *out)
{
    const oci_spill_counters *counters = &manager->spill->counters;
    oci_budget *budget = manager->env.budget;
    *out = (oc_spill_metrics){
        .spill_count = atomic_load(&counters->spill_count),
        .rows = atomic_load(&manager->rows),
        .batches = atomic_load(&manager->batches),
        .rows_written = atomic_load(&counters->spilled_rows),
        .memory_bytes = atomic_load(&counters->memory_bytes),
        .disk_bytes = atomic_load(&counters->spilled_bytes),
        .writes = atomic_load(&counters->writes),
        .read_back_bytes = atomic_load(&counters->read_back_bytes),
        .disk_now = atomic_load(&counters->disk_now),
        .disk_peak = atomic_load(&counters->disk_peak),
        .memory_used = oci_budget_used(budget),
        .memory_peak = oci_budget_peak(budget),
        .encode_ns = atomic_load(&counters->encode_ns),
        .write_ns = atomic_load(&counters->write_ns),
        .read_ns = atomic_load(&counters->read_ns),
        .decode_ns = atomic_load(&counters->decode_ns),
    };
    out->ratio = out->disk_bytes == 0 ? 0 : (double)out->memory_bytes / (double)out->disk_bytes;
}

/* ---- files ----------------------------------------------------------------------------------- */

oc_status oci_spill_file_handle(oc_spill_manager *manager, oci_spill_file *file,
                                oc_spill_file **out, oc_error *err)
{
    oc_spill_file *self = calloc(1, sizeof *self);
    if (self == NULL) {
        oci_spill_file_close(file);
        OC_FAIL(err, OC_ENOMEM, "could not open a spill file: out of memory");
    }
    self->manager = oci_spill_handle_retain(manager);
    self->file = file;
    self->batches = -1;
    self->extent = (oci_run_extent){.rows = -1, .blocks = -1};
    atomic_init(&self->references, 1);
    *out = self;
    return OC_OK;
}

oc_spill_file *oc_spill_file_retain(oc_spill_file *file)
{
    atomic_fetch_add(&file->references, 1);
    return file;
}

void oc_spill_file_release(oc_spill_file *file)
{
    if (file == NULL || atomic_fetch_sub(&file->references, 1) != 1) {
        return;
    }
    oci_spill_file_close(file->file);
    oci_schema_release(file->schema);
    oci_spill_handle_release(file->manager);
    free(file);
}

void oc_spill_file_info(const oc_spill_file *file, oc_spill_info *out)
{
    *out = (oc_spill_info){
        .rows = file->extent.rows,
        .batches = file->batches,
        .blocks = file->extent.blocks,
        .rows_written = file->extent.rows,
        .disk_bytes = file->extent.bytes,
    };
}
