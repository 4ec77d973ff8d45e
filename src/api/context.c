/* Contexts: options checked, seams chosen, references counted. See context.h and the public header.
 *
 * The context itself comes from malloc: one per caller, of fixed size. */
#include "api/context.h"

#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "api/spill_setup.h"

#define BATCH_ROWS_DEFAULT 8192
#define THREADS_MAX        1024

const char *oc_version(void)
{
    return "0.1.0";
}

oc_status oci_copy_options(void *to, const void *from, size_t size, size_t known, const char *what,
                           oc_error *err)
{
    if (size < sizeof(size_t)) {
        OC_FAIL(err, OC_EINVAL, "%s are not initialised: struct_size is %zu; use the *_INIT macro",
                what, size);
    }
    memcpy(to, from, size < known ? size : known);
    return OC_OK;
}

static oc_status check_options(const oc_options *options, oc_error *err)
{
    OC_TRY(oci_check_memory_limit(options->memory_limit, err));
    if (options->threads < 1 || options->threads > THREADS_MAX) {
        OC_FAIL(err, OC_EINVAL, "number of threads must be between 1 and %d, not %d", THREADS_MAX,
                options->threads);
    }
    if (options->batch_rows < 1) {
        OC_FAIL(err, OC_EINVAL, "batch size must be at least 1 row, not %" PRId64,
                options->batch_rows);
    }
    return OC_OK;
}

static void fill_defaults(oc_options *options)
{
    if (options->memory_limit == 0) {
        options->memory_limit = oci_default_memory_limit();
    }
    if (options->threads == 0) {
        options->threads = oci_core_count();
    }
    if (options->batch_rows == 0) {
        options->batch_rows = BATCH_ROWS_DEFAULT;
    }
}

static void report_progress(oci_progress *progress, void *arg)
{
    oc_context *context = arg;
    int64_t now = context->env.clock->now_ns(context->env.clock->self);
    oc_progress shown = {
        .phase = atomic_load(&progress->phase),
        .input_bytes = atomic_load(&progress->input_bytes),
        .input_bytes_total = atomic_load(&progress->input_bytes_total),
        .input_rows = atomic_load(&progress->input_rows),
        .output_rows = atomic_load(&progress->output_rows),
        .spilled_bytes = atomic_load(&context->spill->counters.spilled_bytes),
        .merge_pass = atomic_load(&progress->merge_pass),
        .merge_passes = atomic_load(&progress->merge_passes),
        .seconds = (double)(now - context->start_ns) / 1e9,
    };
    context->callback(&shown, context->callback_arg);
}

static oci_spill_request spill_request(const oc_options *options)
{
    return (oci_spill_request){
        .temp_dirs = options->temp_dirs,
        .n_temp_dirs = options->n_temp_dirs,
        .disk_limit = options->disk_limit,
        .codec = options->spill_codec,
        .level = options->spill_level,
        .encoding = options->spill_encoding,
        .without_checksums = options->spill_without_checksums,
        .encrypt = options->spill_encrypt,
    };
}

static oc_status set_up(oc_context *context, const oc_options *options, const oci_seams *seams,
                        oc_error *err)
{
    oci_env *env = &context->env;
    env->io = seams->io != NULL ? seams->io : oci_posix_io();
    env->threads = seams->threads != NULL ? seams->threads : oci_system_threads();
    env->clock = seams->clock != NULL ? seams->clock : oci_system_clock();
    env->cancel = &context->cancel;
    env->progress = &context->progress;
    env->n_threads = options->threads;
    env->batch_rows = options->batch_rows;
    atomic_store(&context->progress.phase, "starting");
    atomic_store(&context->progress.input_bytes_total, -1);
    context->start_ns = env->clock->now_ns(env->clock->self);
    context->callback = options->progress;
    context->callback_arg = options->progress_arg;
    if (options->progress != NULL) {
        context->progress.report = report_progress;
        context->progress.report_arg = context;
    }
    OC_TRY(oci_budget_create(options->memory_limit, seams->allocator, &env->budget, err));
    OC_TRY(oci_mem_open(env->budget, "input", &context->scan, err));
    OC_TRY(oci_mem_open(env->budget, "output", &context->output, err));
    oci_mem_put_first(context->output);
    oci_spill_request request = spill_request(options);
    return oci_spill_set_up(env, &request, &context->spill, err);
}

oc_status oci_context_create(const oc_options *options, const oci_seams *seams, oc_context **out,
                             oc_error *err)
{
    oc_options given = OC_OPTIONS_INIT;
    if (options != NULL) {
        OC_TRY(oci_copy_options(&given, options, options->struct_size, sizeof given,
                                "context options", err));
    }
    fill_defaults(&given);
    OC_TRY(check_options(&given, err));
    oci_spill_request request = spill_request(&given);
    OC_TRY(oci_spill_check(&request, err));
    oc_context *context = calloc(1, sizeof *context);
    if (context == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not create a context: out of memory");
    }
    atomic_init(&context->references, 1);
    oc_status status = set_up(context, &given, seams, err);
    if (status != OC_OK) {
        oci_context_release(context);
        return status;
    }
    *out = context;
    return OC_OK;
}

oc_status oc_context_create(const oc_options *options, oc_context **out, oc_error *error)
{
    oci_seams seams = {0};
    return oci_context_create(options, &seams, out, error);
}

oc_context *oci_context_retain(oc_context *context)
{
    atomic_fetch_add(&context->references, 1);
    return context;
}

void oci_context_release(oc_context *context)
{
    if (context == NULL || atomic_fetch_sub(&context->references, 1) != 1) {
        return;
    }
    oci_mem_close(context->scan);
    oci_mem_close(context->output);
    oci_spill_manager_release(context->spill);
    oci_budget_destroy(context->env.budget);
    free(context);
}

void oc_context_destroy(oc_context *context)
{
    oci_context_release(context);
}

const char *oci_context_temp_folder(const oc_context *context)
{
    return context->spill->folders[0];
}

static void release_reference(void *arg)
{
    oci_context_release(arg);
}

oc_status oci_context_export(oc_context *context, oci_stream *stream, oci_schema *schema,
                             struct ArrowArrayStream *out, oc_error *err)
{
    oci_context_retain(context);
    oc_status status =
        oci_stream_export(stream, schema, context->output, release_reference, context, out, err);
    if (status != OC_OK) {
        oci_context_release(context);
    }
    return status;
}

/* ---- watching -------------------------------------------------------------------------------- */

void oc_context_cancel(oc_context *context)
{
    atomic_store(&context->cancel, true);
}

void oc_context_reset_cancel(oc_context *context)
{
    atomic_store(&context->cancel, false);
}

void oc_context_metrics(oc_context *context, oc_metrics *out)
{
    oci_spill_counters *counters = &context->spill->counters;
    oci_budget *budget = context->env.budget;
    *out = (oc_metrics){
        .memory_limit = oci_budget_limit(budget),
        .memory_used = oci_budget_used(budget),
        .memory_peak = oci_budget_peak(budget),
        .rows_in = atomic_load(&context->progress.input_rows),
        .rows_out = atomic_load(&context->progress.output_rows),
        .spill_count = atomic_load(&counters->spill_count),
        .runs = atomic_load(&context->progress.runs),
        .spilled_bytes = atomic_load(&counters->spilled_bytes),
        .spilled_rows = atomic_load(&counters->spilled_rows),
        .read_back_bytes = atomic_load(&counters->read_back_bytes),
        .merge_passes = atomic_load(&context->progress.merge_passes),
        .disk_now = atomic_load(&counters->disk_now),
        .disk_peak = atomic_load(&counters->disk_peak),
        .threads = context->env.n_threads,
        .codec = oci_spill_codec_name(context->spill),
        .spilled_memory_bytes = atomic_load(&counters->memory_bytes),
        .spill_writes = atomic_load(&counters->writes),
        .spill_encode_ns = atomic_load(&counters->encode_ns),
        .spill_write_ns = atomic_load(&counters->write_ns),
        .spill_read_ns = atomic_load(&counters->read_ns),
        .spill_decode_ns = atomic_load(&counters->decode_ns),
        .spill_encoding = oci_spill_encoding_name(context->spill),
    };
}
