/* Contexts: options checked, seams chosen, references counted. See context.h and the public header.
 *
 * The context itself comes from malloc: one per caller, of fixed size. */
#include "api/context.h"

#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "base/text.h"
#include "codec/codec.h"

/* Below this not even narrow rows can be sorted: blocks of 16 KiB, a merge of two of them, output,
 * reader. */
#define MEMORY_LIMIT_MIN   ((int64_t)1 << 20)
#define BATCH_ROWS_DEFAULT 8192
#define THREADS_MAX        1024
#define FOLDERS_MAX        1024

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

static oci_codec_id codec_of(oc_codec codec)
{
    switch (codec) {
    case OC_CODEC_NONE: return OCI_CODEC_NONE;
    case OC_CODEC_ZSTD: return OCI_CODEC_ZSTD;
    default: return OCI_CODEC_LZ4_FRAME; /* AUTO and LZ4 */
    }
}

/* A level that the codec does not take would otherwise be heard of at the first spill. */
static oc_status check_codec(const oc_options *options, oc_error *err)
{
    if ((int)options->spill_codec < 0 || options->spill_codec > OC_CODEC_ZSTD) {
        OC_FAIL(err, OC_EINVAL, "unknown spill codec %d", (int)options->spill_codec);
    }
    oci_codec *codec;
    OC_TRY(oci_codec_create(codec_of(options->spill_codec), options->spill_level, &codec, err));
    oci_codec_destroy(codec);
    return OC_OK;
}

static oc_status check_options(const oc_options *options, oc_error *err)
{
    if (options->memory_limit < MEMORY_LIMIT_MIN) {
        char text[OCI_BYTES_TEXT];
        oc_status status = OC_SET(err, OC_EBUDGET,
                                  "memory limit of %s is too small: the smallest is 1 MiB",
                                  oci_format_bytes(options->memory_limit, text));
        if (err != NULL) {
            err->needed_bytes = MEMORY_LIMIT_MIN;
        }
        return status;
    }
    if (options->disk_limit < 0) {
        OC_FAIL(err, OC_EINVAL, "disk limit must not be negative");
    }
    if (options->threads < 1 || options->threads > THREADS_MAX) {
        OC_FAIL(err, OC_EINVAL, "number of threads must be between 1 and %d, not %d", THREADS_MAX,
                options->threads);
    }
    if (options->batch_rows < 1) {
        OC_FAIL(err, OC_EINVAL, "batch size must be at least 1 row, not %" PRId64,
                options->batch_rows);
    }
    if (options->n_temp_dirs > FOLDERS_MAX) {
        OC_FAIL(err, OC_EINVAL, "too many folders for spill files: %zu of at most %d",
                options->n_temp_dirs, FOLDERS_MAX);
    }
    return check_codec(options, err);
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

static const char *default_folder(void)
{
    const char *own = getenv("OUTCORE_TEMP_DIR");
    const char *common = getenv("TMPDIR");
    if (own != NULL && own[0] != '\0') {
        return own;
    }
    return common != NULL && common[0] != '\0' ? common : "/tmp";
}

/* Opens a scratch file in every folder and closes it: better to hear of a bad folder now than after
 * an hour of reading. */
static oc_status check_folders(const oc_context *context, oc_error *err)
{
    const oci_spill_manager *spill = context->spill;
    for (int32_t i = 0; i < spill->n_folders; i++) {
        oci_file *file;
        oc_status status =
            oci_open(context->env.io, spill->folders[i], OCI_OPEN_SCRATCH, &file, err);
        if (status != OC_OK) {
            oci_error_prefix(
                err, "folder for spill files cannot be used; choose another with --temp-dir");
            return status;
        }
        OC_TRY(oci_close(file, err));
    }
    return OC_OK;
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
    const char *fallback = default_folder();
    bool has_folders = options->temp_dirs != NULL && options->n_temp_dirs > 0;
    OC_TRY(oci_spill_manager_create(env->io, has_folders ? options->temp_dirs : &fallback,
                                    has_folders ? (int32_t)options->n_temp_dirs : 1,
                                    options->disk_limit, codec_of(options->spill_codec),
                                    options->spill_level, &context->spill, err));
    return check_folders(context, err);
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
        .codec = oci_codec_name(context->spill->codec),
    };
}
