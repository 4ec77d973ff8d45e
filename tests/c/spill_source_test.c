/* Spill files whose bytes come from elsewhere: in pieces of any size, cut short, or not at all. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/spill_engine.h"

static const char *const columns[] = {"k=i", "s=u", "id=l", "v=vu"};
#define N_COLUMNS 4

/* ---- sources --------------------------------------------------------------------------------- */

typedef struct source {
    const uint8_t *data;
    int64_t size;
    int64_t at;
    int64_t piece; /* bytes at a time */
    int64_t fail_at;
    int released;
} source;

static int64_t read_source(void *self, void *buffer, int64_t size)
{
    source *s = self;
    int64_t n = s->size - s->at < s->piece ? s->size - s->at : s->piece;
    n = n < size ? n : size;
    if (s->fail_at >= 0 && s->at + n > s->fail_at) {
        return -ETIMEDOUT;
    }
    memcpy(buffer, s->data + s->at, (size_t)n);
    s->at += n;
    return n;
}

static void release_source(void *self)
{
    ((source *)self)->released++;
}

static uint8_t *read_whole(const char *path, int64_t *size)
{
    struct stat stats;
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    assert_int_equal(stat(path, &stats), 0);
    *size = stats.st_size;
    uint8_t *data = malloc((size_t)*size + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, (size_t)*size, in), *size);
    fclose(in);
    return data;
}

/* The bytes of a spill file of small blocks. */
static uint8_t *make_bytes(const arrow_maker *maker, int64_t *size, bool keep)
{
    char path[128];
    snprintf(path, sizeof path, "%s", spill_path_of("bytes.spill"));
    oc_spill_options options = default_spill_options();
    options.keep_batches = keep;
    options.codec = OC_CODEC_LZ4;
    oc_spill_manager *manager = make_spill_manager(&options);
    oc_spill_file_release(write_spilled(make_spill_writer(manager, columns, N_COLUMNS, path),
                                        columns, N_COLUMNS, maker, 100));
    end_spilling(manager);
    uint8_t *data = read_whole(path, size);
    unlink(path);
    return data;
}

static oc_status open_source(oc_spill_manager *manager, source *s, oc_spill_file **file,
                             oc_error *error)
{
    oc_spill_source face = {.name = "bucket/object",
                            .size = s->size,
                            .read = read_source,
                            .release = release_source,
                            .self = s};
    return oc_spill_file_open_source(manager, &face, file, error);
}

static void pieces_of_any_size_give_the_same_rows(void **state)
{
    (void)state;
    static const int64_t pieces[] = {1, 3, 7, 64, 1000, 1 << 20};
    arrow_maker maker = {.seed = 3, .length = 1000, .null_percent = 10};
    int64_t size;
    uint8_t *data = make_bytes(&maker, &size, true);
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        oc_spill_manager *manager = make_spill_manager(NULL);
        source s = {.data = data, .size = size, .piece = pieces[i], .fail_at = -1};
        oc_spill_file *file;
        assert_int_equal(open_source(manager, &s, &file, NULL), OC_OK);
        check_spilled(file, columns, N_COLUMNS, &maker);
        struct ArrowArrayStream stream;
        assert_int_equal(oc_spill_file_read(file, NULL, NULL, &stream, NULL), OC_EINVAL);
        oc_spill_file_release(file);
        assert_int_equal(s.released, 1);
        end_spilling(manager);
    }
    free(data);
}

/* Reads everything. Returns the errno value, or 0; *message gets the text. */
static int read_all(oc_spill_file *file, char message[1024])
{
    struct ArrowArrayStream stream;
    oc_error error = {0};
    message[0] = '\0';
    oc_status status = oc_spill_file_read(file, NULL, NULL, &stream, &error);
    if (status != OC_OK) {
        snprintf(message, 1024, "%s", error.message);
        return oc_status_errno(status);
    }
    int code;
    for (;;) {
        struct ArrowArray array;
        code = stream.get_next(&stream, &array);
        if (code != 0 || array.release == NULL) {
            break;
        }
        array.release(&array);
    }
    if (code != 0) {
        snprintf(message, 1024, "%s", stream.get_last_error(&stream));
    }
    stream.release(&stream);
    return code;
}

static void a_cut_at_every_offset_is_reported(void **state)
{
    (void)state;
    arrow_maker maker = {.seed = 3, .length = 300, .null_percent = 10};
    int64_t size;
    uint8_t *data = make_bytes(&maker, &size, true);
    oc_spill_manager *manager = make_spill_manager(NULL);
    for (int64_t cut = 0; cut < size; cut++) {
        /* The size is told rightly and the bytes end early, or the size says so as well. */
        source s = {.data = data, .size = cut, .piece = 1000, .fail_at = -1};
        char message[1024];
        oc_spill_file *file;
        assert_int_equal(open_source(manager, &s, &file, NULL), OC_OK);
        if (read_all(file, message) != EINVAL) {
            fail_msg("cut at %d of %d: \"%s\"", (int)cut, (int)size, message);
        }
        oc_spill_file_release(file);
        assert_int_equal(s.released, 1);
    }
    end_spilling(manager);
    free(data);
}

static void an_error_of_a_source_is_told(void **state)
{
    (void)state;
    arrow_maker maker = {.seed = 3, .length = 1000};
    int64_t size;
    uint8_t *data = make_bytes(&maker, &size, true);
    oc_spill_manager *manager = make_spill_manager(NULL);
    source s = {.data = data, .size = size, .piece = 100, .fail_at = size / 2};
    char message[1024];
    oc_spill_file *file;
    assert_int_equal(open_source(manager, &s, &file, NULL), OC_OK);
    assert_int_equal(read_all(file, message), EIO);
    assert_non_null(strstr(message, "bucket/object"));
    assert_non_null(strstr(message, strerror(ETIMEDOUT)));
    oc_spill_file_release(file);
    oc_spill_source nothing = {.size = 10};
    assert_int_equal(oc_spill_file_open_source(manager, &nothing, &file, NULL), OC_EINVAL);
    end_spilling(manager);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_of_any_size_give_the_same_rows),
        cmocka_unit_test(a_cut_at_every_offset_is_reported),
        cmocka_unit_test(an_error_of_a_source_is_told),
    };
    return cmocka_run_group_tests(tests, make_spill_folder, remove_spill_folder);
}
