/* See loop.h. All of this runs suspended, but for the calls into the body. */
#include "fault/loop.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/context.h"
#include "arrow/stream.h"
#include "base/hash.h"
#include "spill/seal.h"
#include "support/arrow_maker.h"

#define MIB ((int64_t)1 << 20)
/* CPU time for moments beyond the first of each site, per body. */
#define SPARE_SECONDS 0.15
#define SITES_MAX     4096

char fault_folder[64];
static char outputs[80];
static char spill[80];

bool fault_is_slow(void)
{
    return getenv("OUTCORE_SLOW") != NULL;
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- folders ----------------------------------------------------------------------------------- */

void fault_set_up_folders(void)
{
    snprintf(fault_folder, sizeof fault_folder, "/tmp/oc_fault_XXXXXX");
    assert_non_null(mkdtemp(fault_folder));
    char path[96];
    snprintf(path, sizeof path, "%s/inputs", fault_folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(outputs, sizeof outputs, "%s/outputs", fault_folder);
    assert_int_equal(mkdir(outputs, 0700), 0);
    snprintf(spill, sizeof spill, "%s/spill", fault_folder);
    assert_int_equal(mkdir(spill, 0700), 0);
}

/* Removes what is in a folder; returns how many names there were. */
static int empty_folder(const char *folder)
{
    int n = 0;
    DIR *names = opendir(folder);
    assert_non_null(names);
    for (struct dirent *entry; (entry = readdir(names)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            char path[400];
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            unlink(path);
            n++;
        }
    }
    closedir(names);
    return n;
}

void fault_remove_folders(void)
{
    char path[96];
    snprintf(path, sizeof path, "%s/inputs", fault_folder);
    const char *const folders[] = {path, outputs, spill};
    for (size_t i = 0; i < 3; i++) {
        empty_folder(folders[i]);
        rmdir(folders[i]);
    }
    rmdir(fault_folder);
}

/* ---- for bodies -------------------------------------------------------------------------------- */

static int quiet_get_schema(struct ArrowArrayStream *self, struct ArrowSchema *out)
{
    struct ArrowArrayStream *inner = self->private_data;
    fault_suspend();
    int code = inner->get_schema(inner, out);
    fault_resume();
    return code;
}

static int quiet_get_next(struct ArrowArrayStream *self, struct ArrowArray *out)
{
    struct ArrowArrayStream *inner = self->private_data;
    fault_suspend();
    int code = inner->get_next(inner, out);
    fault_resume();
    return code;
}

static const char *quiet_get_last_error(struct ArrowArrayStream *self)
{
    struct ArrowArrayStream *inner = self->private_data;
    return inner->get_last_error(inner);
}

static void quiet_release(struct ArrowArrayStream *self)
{
    struct ArrowArrayStream *inner = self->private_data;
    inner->release(inner);
    free(inner);
    self->release = NULL;
}

void fault_make_stream(const arrow_stream_maker *maker, struct ArrowArrayStream *out)
{
    fault_suspend();
    struct ArrowArrayStream *inner = malloc(sizeof *inner);
    arrow_make_stream(maker, inner);
    *out = (struct ArrowArrayStream){
        .get_schema = quiet_get_schema,
        .get_next = quiet_get_next,
        .get_last_error = quiet_get_last_error,
        .release = quiet_release,
        .private_data = inner,
    };
    fault_resume();
}

void fault_add(fault_run *run, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        run->digest = (run->digest ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001B3);
    }
}

static void add_batch(uint64_t *digest, const oci_batch *batch)
{
    for (int64_t row = 0; row < batch->length; row++) {
        for (int32_t c = 0; c < batch->schema->n_fields; c++) {
            *digest = oci_value_hash(&batch->columns[c], row, *digest * 31 + 7);
        }
    }
}

/* The status that an errno value of our streams stands for. */
static oc_status status_of(int code)
{
    static const oc_status known[] = {OC_EINVAL, OC_EUNSUPPORTED, OC_ENOMEM,
                                      OC_ENOSPC, OC_EIO,          OC_ECANCELED};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (oc_status_errno(known[i]) == code) {
            return known[i];
        }
    }
    return OC_EINTERNAL;
}

static oc_status note_error(fault_run *run, struct ArrowArrayStream *stream, int code)
{
    const char *text = stream->get_last_error(stream);
    run->error.status = status_of(code);
    snprintf(run->error.message, sizeof run->error.message, "%s", text == NULL ? "" : text);
    stream->release(stream);
    return run->error.status;
}

oc_status fault_drain(fault_run *run, struct ArrowArrayStream *stream)
{
    struct ArrowSchema c_schema = {0};
    int code = stream->get_schema(stream, &c_schema);
    if (code != 0) {
        return note_error(run, stream, code);
    }
    fault_suspend();
    oci_schema *schema = NULL;
    assert_int_equal(oci_schema_import(&c_schema, &schema, NULL), OC_OK);
    fault_resume();
    c_schema.release(&c_schema);
    for (;;) {
        struct ArrowArray array = {0};
        code = stream->get_next(stream, &array);
        if (code != 0 || array.release == NULL) {
            break;
        }
        fault_suspend();
        oci_batch *batch = NULL;
        assert_int_equal(oci_batch_import(&array, schema, &batch, NULL), OC_OK);
        add_batch(&run->digest, batch);
        oci_batch_release(batch);
        fault_resume();
    }
    fault_suspend();
    oci_schema_release(schema);
    fault_resume();
    if (code != 0) {
        return note_error(run, stream, code);
    }
    stream->release(stream);
    return OC_OK;
}

uint64_t fault_digest_of_file(const char *path, oc_format format)
{
    fault_suspend();
    oc_context *context;
    oc_error error = {0};
    oc_read_options options = OC_READ_OPTIONS_INIT;
    options.format = format;
    struct ArrowArrayStream stream;
    fault_run run = {.digest = 1};
    oc_options settings = OC_OPTIONS_INIT;
    settings.threads = 1; /* this one, which is suspended */
    if (oc_context_create(&settings, &context, &error) != OC_OK ||
        oc_read_files(context, &path, 1, &options, &stream, &error) != OC_OK ||
        fault_drain(&run, &stream) != OC_OK) {
        fail_msg("%s: %s%s", path, error.message, run.error.message);
    }
    oc_context_destroy(context);
    fault_resume();
    return run.digest;
}

/* ---- one attempt ------------------------------------------------------------------------------- */

typedef struct attempt {
    const fault_body *body;
    const fault_plan *plan; /* NULL: no failure */
    uint64_t expected;
    /* A cancel instead of a failure: */
    int64_t cancel_call; /* before this call; 0: none */
    int64_t cancel_tick; /* in this progress callback; 0: none */
} attempt;

/* For cancels: the context of the attempt, and ticks left. */
static oc_context *current;
static int64_t ticks_left;
static bool canceled;

static void cancel_now(void *arg)
{
    (void)arg;
    if (current != NULL) {
        canceled = true;
        oc_context_cancel(current);
    }
}

static void count_tick(const oc_progress *progress, void *arg)
{
    (void)arg;
    assert_non_null(progress->phase);
    if (--ticks_left == 0) {
        cancel_now(NULL);
    }
}

/* A clock that is a tenth of a second later each time, so that every tick reports. */
static int64_t hasty_now(void *self)
{
    static _Atomic int64_t now;
    (void)self;
    return now += 200 * 1000 * 1000;
}

static const oci_clock hasty_clock = {.now_ns = hasty_now};

static oc_status make_context(const attempt *a, oc_context **out, oc_error *err)
{
    static const char *const folders[] = {spill};
    oc_options options = OC_OPTIONS_INIT;
    options.memory_limit = a->body->memory_limit > 0 ? a->body->memory_limit : MIB;
    options.spill_codec = a->body->codec;
    options.spill_encoding = a->body->encoding;
    options.spill_without_checksums = a->body->no_checksums;
    options.spill_encrypt = a->body->encrypt;
    options.threads = a->body->threads > 0 ? a->body->threads : 1;
    options.batch_rows = 500;
    options.temp_dirs = folders;
    options.n_temp_dirs = 1;
    oci_seams seams = {0};
    if (a->cancel_tick > 0) {
        options.progress = count_tick;
        seams.clock = &hasty_clock;
    }
    return oci_context_create(&options, &seams, out, err);
}

static bool is_expected(const attempt *a, oc_status status)
{
    if (a->plan == NULL) {
        return status == OC_ECANCELED && canceled;
    }
    switch (a->plan->kind) {
    case FAULT_MEMORY:
    case FAULT_BUDGET: return status == OC_ENOMEM || status == OC_EBUDGET;
    case FAULT_WRITE: return status == OC_ENOSPC;
    case FAULT_THREAD: return a->body->needs_thread && status == OC_ENOMEM;
    default: return !fault_is_harmless(a->plan->kind) && status == OC_EIO;
    }
}

static void describe(const attempt *a, char *text, size_t size)
{
    if (a->plan != NULL) {
        snprintf(text, size, "%s: %s failure %d%s%s", a->body->name, fault_kind_name(a->plan->kind),
                 (int)a->plan->nth, a->plan->site != NULL ? " of a site" : "",
                 a->plan->for_ever ? ", for ever" : "");
    } else {
        snprintf(text, size, "%s: canceled at call %d, tick %d", a->body->name, (int)a->cancel_call,
                 (int)a->cancel_tick);
    }
}

#define WRONG_MAX 60

static int n_wrong;

static void check(bool right, const attempt *a, const char *what, const fault_run *run)
{
    if (!right) {
        char text[160];
        describe(a, text, sizeof text);
        fprintf(stderr, "%s: %s: %s: %s\n", text, what, oc_status_name(run->error.status),
                run->error.message);
        fault_report_last(stderr);
        if (++n_wrong == WRONG_MAX) {
            fail_msg("too much goes wrong");
        }
    }
}

void fault_check_none_wrong(void)
{
    int n = n_wrong;
    n_wrong = 0;
    if (n > 0) {
        fail_msg("%d attempts went wrong", n);
    }
}

static oc_status start(const attempt *a, fault_run *run)
{
    fault_resume();
    oc_status status = make_context(a, &run->context, &run->error);
    fault_suspend();
    return status;
}

static oc_status run_once(const attempt *a, fault_run *run)
{
    run->digest = 1;
    run->error = (oc_error){0};
    fault_resume();
    oc_status status = a->body->run(run);
    fault_suspend();
    if (status != OC_OK) {
        run->error.status = status;
    }
    return status;
}

/* Nothing is held, and the context can do it again. */
static void check_context(const attempt *a, fault_run *run, oc_status status)
{
    oc_metrics m;
    oc_context_metrics(run->context, &m);
    check(m.memory_used == 0, a, "memory is still charged", run);
    check(m.disk_now == 0, a, "disk is still used", run);
    fault_at_call(0, NULL, NULL);
    fault_arm_again();
    if (status != OC_OK) {
        oc_context_reset_cancel(run->context);
        oc_error first = run->error;
        if (run_once(a, run) != OC_OK || run->digest != a->expected) {
            fprintf(stderr, "the failure before: %s\n", first.message);
            check(false, a, "the context is not usable afterwards", run);
        }
        empty_folder(outputs);
    }
}

/* Returns whether a fault was injected (or the work canceled). */
static bool try(const attempt *a, bool recording, uint64_t *digest)
{
    fault_run run = {.outputs = outputs, .arg = a->body->arg};
    canceled = false;
    ticks_left = a->cancel_tick;
    fault_set_no_tmpfile(a->body->no_tmpfile);
    fault_arm(a->plan, recording);
    fault_at_call(a->cancel_call, cancel_now, NULL);
    oc_status status = start(a, &run);
    current = run.context;
    if (status == OC_OK) {
        status = run_once(a, &run);
    }
    bool injected = a->plan != NULL ? fault_injected() > 0 : canceled;
    int names = status == OC_OK ? 0 : empty_folder(outputs);
    bool may_leave = a->plan != NULL && a->plan->kind == FAULT_NAME;
    if (digest != NULL) {
        if (status != OC_OK) {
            fail_msg("%s: %s", a->body->name, run.error.message);
        }
        *digest = run.digest;
        oc_metrics m;
        oc_context_metrics(run.context, &m);
        if ((a->body->must_spill && m.spill_count < 2) || m.merge_passes < a->body->merge_passes) {
            fail_msg("%s: makes %d runs and %d passes only", a->body->name, (int)m.spill_count,
                     (int)m.merge_passes);
        }
    } else if (status == OC_OK) {
        check(run.digest == a->expected, a, "wrong answer", &run);
    } else {
        check(injected, a, "fails without any fault", &run);
        check(is_expected(a, status), a, "unexpected error", &run);
        check(run.error.message[0] != '\0', a, "error without a message", &run);
        check(names == 0 || may_leave, a, "output is left behind", &run);
    }
    empty_folder(outputs);
    if (run.context != NULL) {
        check_context(a, &run, status);
        current = NULL;
        fault_resume();
        oc_context_destroy(run.context);
        fault_suspend();
    }
    fault_disarm();
    check(fault_live_blocks() == 0, a, "memory leaks", &run);
    check(fault_live_files() == 0, a, "descriptors leak", &run);
    fault_forget_live(stderr);
    check(arrow_maker_live() == 0, a, "input is not released", &run);
    check(empty_folder(spill) == 0 || may_leave, a, "a spill file is left behind", &run);
    return injected;
}

/* ---- the loops --------------------------------------------------------------------------------- */

/* Every moment, thinned out where there are very many. */
static void try_all(attempt *a)
{
    for (int kind = 0; kind < FAULT_KINDS; kind++) {
        for (int for_ever = 0; for_ever <= 1; for_ever++) {
            fault_plan plan = {.kind = (fault_kind)kind, .nth = 1, .for_ever = for_ever != 0};
            if (kind == FAULT_EINTR && plan.for_ever) {
                continue; /* would be tried for ever */
            }
            a->plan = &plan;
            while (try(a, false, NULL)) {
                plan.nth += plan.nth < 120 ? 1 : plan.nth / 12;
            }
        }
    }
}

typedef struct moment {
    fault_plan plan;
    bool is_needed; /* the first failure of its site */
} moment;

/* Moments of the sites that the body passes: the first time, once and for ever; the last time and
 * one between. */
static int32_t list_moments(moment *out, int32_t max)
{
    int32_t n = 0;
    for (int32_t i = 0; i < fault_n_sites(); i++) {
        const fault_site *site = fault_site_at(i);
        fault_plan plan = {.kind = site->kind, .site = site->address, .nth = 1};
        int64_t passes[] = {1, site->seen, site->seen / 2};
        for (int p = 0; p < 3 && n + 2 <= max; p++) {
            if (site->seen < 1 || passes[p] < (p == 0 ? 1 : 2)) {
                continue;
            }
            plan.nth = passes[p];
            plan.for_ever = false;
            out[n++] = (moment){plan, p == 0 && site->hit == 0};
            plan.for_ever = true;
            if (site->kind != FAULT_EINTR) {
                out[n++] = (moment){plan, p == 0 && site->hit_ever == 0};
            }
        }
    }
    return n;
}

static void try_some(attempt *a)
{
    static moment moments[6 * SITES_MAX];
    static uint64_t random = 1;
    int32_t n = list_moments(moments, 6 * SITES_MAX);
    for (int32_t i = 0; i < n; i++) {
        if (moments[i].is_needed) {
            a->plan = &moments[i].plan;
            try(a, false, NULL);
        }
    }
    double end = cpu_seconds() + SPARE_SECONDS;
    for (int32_t left = n; left > 0 && cpu_seconds() < end; left--) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        int32_t i = (int32_t)((random >> 33) % (uint64_t)left);
        moment picked = moments[i];
        moments[i] = moments[left - 1];
        a->plan = &picked.plan;
        try(a, false, NULL);
    }
}

#ifdef __SANITIZE_ADDRESS__
#define IS_SANITIZED true
#else
#define IS_SANITIZED false
#endif

void fault_loop(const fault_body *body)
{
    bool is_too_heavy = body->is_heavy && IS_SANITIZED && !fault_is_slow();
    if (is_too_heavy || (body->encrypt && !oci_seal_is_available())) {
        return;
    }
    attempt a = {.body = body};
    uint64_t expected = 0;
    try(&a, true, &expected);
    a.expected = expected;
    try_some(&a);
    if (fault_is_slow()) {
        try_all(&a);
    }
}

void fault_cancel_loop(const fault_body *body)
{
    bool is_too_heavy = body->is_heavy && !fault_is_slow();
    if (is_too_heavy || (body->encrypt && !oci_seal_is_available())) {
        return;
    }
    attempt a = {.body = body};
    uint64_t expected = 0;
    try(&a, false, &expected);
    a.expected = expected;
    int64_t calls = fault_calls();
    int64_t step = calls / (fault_is_slow() ? 500 : 4) + 1;
    for (a.cancel_call = 1; try(&a, false, NULL); a.cancel_call += step) {
    }
    a.cancel_call = 0;
    step = 1;
    for (a.cancel_tick = 1; try(&a, false, NULL); a.cancel_tick += step) {
        step = fault_is_slow() ? 1 : step + a.cancel_tick / 2;
    }
}
