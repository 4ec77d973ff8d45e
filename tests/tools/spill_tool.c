/* Writes and reads spill files through outcore/spill.h, for the Python tests.
 *
 *     spill_tool write [options] IN OUT      rows of an Arrow file to a spill file
 *         --encoding NAME   auto, plain, lengths
 *         --codec NAME      auto, none, lz4, zstd
 *         --level N         of zstd
 *         --batch-rows N    rows of an appended batch at most (default 8192)
 *         --block-bytes N
 *         --keep            batches stay as they are
 *         --no-checksums
 *         --encrypt
 *         --repeat N        the rows N times (default 1)
 *         --nameless        OUT is a folder, and the file is gone at the end
 *     spill_tool read IN OUT                 rows of a spill file to an Arrow stream
 *
 * Prints "rows=R batches=B blocks=N memory=BYTES disk=BYTES writes=N". Exit code 1: an error, which is
 * printed as "STATUS: message". */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "outcore/spill.h"

typedef struct options {
    oc_spill_options spill;
    int64_t batch_rows;
    int64_t repeat;
    bool nameless;
    const char *in;
    const char *out;
} options;

static int fail(const oc_error *error)
{
    printf("%s: %s\n", oc_status_name(error->status), error->message);
    return 1;
}

static bool parse_name(const char *const *names, const char *text, int *out)
{
    for (*out = 0; names[*out] != NULL; ++*out) {
        if (strcmp(names[*out], text) == 0) {
            return true;
        }
    }
    return false;
}

static bool parse_encoding(const char *text, oc_spill_encoding *out)
{
    static const char *const names[] = {"auto", "plain", "lengths", NULL};
    int value;
    bool known = parse_name(names, text, &value);
    *out = (oc_spill_encoding)value;
    return known;
}

static bool parse_codec(const char *text, oc_codec *out)
{
    static const char *const names[] = {"auto", "none", "lz4", "zstd", NULL};
    int value;
    bool known = parse_name(names, text, &value);
    *out = (oc_codec)value;
    return known;
}

static bool parse_options(int argc, char **argv, options *out)
{
    static const struct option table[] = {{"encoding", required_argument, NULL, 'e'},
                                          {"codec", required_argument, NULL, 'c'},
                                          {"level", required_argument, NULL, 'l'},
                                          {"batch-rows", required_argument, NULL, 'b'},
                                          {"block-bytes", required_argument, NULL, 's'},
                                          {"keep", no_argument, NULL, 'k'},
                                          {"no-checksums", no_argument, NULL, 'n'},
                                          {"repeat", required_argument, NULL, 'r'},
                                          {"nameless", no_argument, NULL, 'x'},
                                          {"encrypt", no_argument, NULL, 'y'},
                                          {NULL, 0, NULL, 0}};
    *out = (options){.spill = OC_SPILL_OPTIONS_INIT, .batch_rows = 8192, .repeat = 1};
    bool good = true;
    for (int c; good && (c = getopt_long(argc, argv, "", table, NULL)) != -1;) {
        switch (c) {
        case 'e': good = parse_encoding(optarg, &out->spill.encoding); break;
        case 'c': good = parse_codec(optarg, &out->spill.codec); break;
        case 'l': out->spill.level = (int32_t)strtol(optarg, NULL, 10); break;
        case 'b': out->batch_rows = strtoll(optarg, NULL, 10); break;
        case 's': out->spill.block_bytes = strtoll(optarg, NULL, 10); break;
        case 'k': out->spill.keep_batches = true; break;
        case 'n': out->spill.without_checksums = true; break;
        case 'r': out->repeat = strtoll(optarg, NULL, 10); break;
        case 'x': out->nameless = true; break;
        case 'y': out->spill.encrypt = true; break;
        default: good = false;
        }
    }
    out->in = optind < argc ? argv[optind] : NULL;
    out->out = optind + 1 < argc ? argv[optind + 1] : NULL;
    return good && out->out != NULL;
}

/* ---- write ----------------------------------------------------------------------------------- */

static oc_status open_input(oc_context *context, const char *path, struct ArrowArrayStream *out,
                            oc_error *error)
{
    oc_read_options read = OC_READ_OPTIONS_INIT;
    read.format = OC_FORMAT_ARROW;
    return oc_read_files(context, &path, 1, &read, out, error);
}

static oc_status stream_error(struct ArrowArrayStream *stream, oc_error *error)
{
    *error = (oc_error){.status = OC_ESTREAM};
    snprintf(error->message, sizeof error->message, "%s", stream->get_last_error(stream));
    return OC_ESTREAM;
}

static oc_status append_all(oc_spill_writer *writer, struct ArrowArrayStream *stream,
                            oc_error *error)
{
    for (;;) {
        struct ArrowArray batch;
        if (stream->get_next(stream, &batch) != 0) {
            return stream_error(stream, error);
        }
        if (batch.release == NULL) {
            return OC_OK;
        }
        oc_status status = oc_spill_writer_append(writer, &batch, error);
        if (status != OC_OK) {
            return status;
        }
    }
}

static oc_status create_writer(oc_spill_manager *manager, struct ArrowArrayStream *stream,
                               const char *path, oc_spill_writer **out, oc_error *error)
{
    struct ArrowSchema schema;
    if (stream->get_schema(stream, &schema) != 0) {
        return stream_error(stream, error);
    }
    oc_status status = oc_spill_writer_create(manager, &schema, path, out, error);
    schema.release(&schema);
    return status;
}

static oc_status write_rows(oc_context *context, oc_spill_manager *manager, const options *o,
                            oc_spill_writer **writer, oc_error *error)
{
    oc_status status = OC_OK;
    for (int64_t i = 0; i < o->repeat && status == OC_OK; i++) {
        struct ArrowArrayStream stream;
        status = open_input(context, o->in, &stream, error);
        if (status != OC_OK) {
            break;
        }
        if (i == 0) {
            status = create_writer(manager, &stream, o->nameless ? NULL : o->out, writer, error);
        }
        if (status == OC_OK) {
            status = append_all(*writer, &stream, error);
        }
        stream.release(&stream);
    }
    return status;
}

static void print_totals(oc_spill_manager *manager, const oc_spill_info *info)
{
    oc_spill_metrics m;
    oc_spill_manager_metrics(manager, &m);
    printf("rows=%lld batches=%lld blocks=%lld memory=%lld disk=%lld writes=%lld\n",
           (long long)info->rows, (long long)info->batches, (long long)info->blocks,
           (long long)m.memory_bytes, (long long)m.disk_bytes, (long long)m.writes);
}

static int write_file(oc_context *context, const options *o)
{
    oc_spill_manager *manager;
    oc_spill_writer *writer = NULL;
    oc_spill_file *file = NULL;
    oc_error error;
    oc_spill_options spill = o->spill;
    spill.temp_dirs = &o->out;
    spill.n_temp_dirs = o->nameless ? 1 : 0;
    if (oc_spill_manager_create(&spill, &manager, &error) != OC_OK) {
        return fail(&error);
    }
    oc_status status = write_rows(context, manager, o, &writer, &error);
    if (status == OC_OK && writer != NULL) {
        status = oc_spill_writer_finish(writer, &file, &error);
    }
    if (status == OC_OK && file != NULL) {
        oc_spill_info info;
        oc_spill_file_info(file, &info);
        print_totals(manager, &info);
    }
    oc_spill_file_release(file);
    oc_spill_writer_destroy(writer);
    oc_spill_manager_destroy(manager);
    return status == OC_OK ? 0 : fail(&error);
}

/* ---- read ------------------------------------------------------------------------------------ */

static int read_file(oc_context *context, const options *o)
{
    oc_spill_manager *manager;
    oc_spill_file *file = NULL;
    oc_error error;
    if (oc_spill_manager_create(&o->spill, &manager, &error) != OC_OK) {
        return fail(&error);
    }
    struct ArrowArrayStream stream;
    oc_status status = oc_spill_file_open(manager, o->in, &file, &error);
    if (status == OC_OK) {
        status = oc_spill_file_read(file, NULL, NULL, &stream, &error);
    }
    oc_spill_info info = {0};
    if (status == OC_OK) {
        oc_write_options write = OC_WRITE_OPTIONS_INIT;
        write.format = OC_FORMAT_ARROWS;
        status = oc_write_file(context, &stream, o->out, &write, &info.rows, &error);
    }
    if (status == OC_OK) {
        print_totals(manager, &info);
    }
    oc_spill_file_release(file);
    oc_spill_manager_destroy(manager);
    return status == OC_OK ? 0 : fail(&error);
}

int main(int argc, char **argv)
{
    options o;
    bool writes = argc > 1 && strcmp(argv[1], "write") == 0;
    if (argc < 2 || (!writes && strcmp(argv[1], "read") != 0) ||
        !parse_options(argc - 1, argv + 1, &o)) {
        fprintf(stderr, "usage: spill_tool write|read [options] IN OUT\n");
        return 2;
    }
    oc_options settings = OC_OPTIONS_INIT;
    settings.batch_rows = o.batch_rows;
    oc_context *context;
    oc_error error;
    if (oc_context_create(&settings, &context, &error) != OC_OK) {
        return fail(&error);
    }
    int code = writes ? write_file(context, &o) : read_file(context, &o);
    oc_context_destroy(context);
    return code;
}
