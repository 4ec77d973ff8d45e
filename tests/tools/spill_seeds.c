/* Writes small spill files, for fuzz/make_seeds.py: some columns each, by every encoding and codec,
 * with checksums and without.
 *
 *     spill_seeds FOLDER
 *
 * The last byte of each says to src/spill/run_fuzz.c how it is to be read. Exit code 1: an error,
 * which is printed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/gather.h"
#include "spill/run.h"
#include "support/batch_maker.h"

#define MIB         ((int64_t)1 << 20)
#define COLUMNS_MAX 4

static const char *const tables[][COLUMNS_MAX] = {
    {"a=l", "b=s", "c=b", "d=C"},
    {"a=u", "b=U", "c=z", "d=vu"},
    {"a=d:15,2", "b=d:38,0", "c=g", "d=e"},
    {"a=tdD", "b=tsu:UTC", "c=tin", "d=w:5"},
    {"a=c>u", "b=s>l", "c=n"},
    {"a=+l(i)", "b=+s(x=l; y=u)", "c=+w:2(s)"},
    {"a=+vl(u)", "b=+m(u; i)", "c=+r(i; u)"},
    {"a=+ud:0,1(i; u)", "b=+us:0,1(l; z)", "c=+l(c>u)"},
};
#define N_TABLES ((int32_t)(sizeof tables / sizeof tables[0]))

static _Noreturn void give_up(const oc_error *err)
{
    fprintf(stderr, "%s: %s\n", oc_status_name(err->status), err->message);
    exit(1);
}

static void must(oc_status status, const oc_error *err)
{
    if (status != OC_OK) {
        give_up(err);
    }
}

/* Two batches: one of 128 rows, from which on strings go by length and bytes, and a short one. */
static void write_batches(oci_spill_file *file, const char *const *columns, int32_t n_columns,
                          oci_mem *mem, oci_run_extent *extent)
{
    oc_error err = {0};
    oci_run_writer *writer = NULL;
    oci_schema *schema = NULL;
    for (int32_t i = 0; i < 2; i++) {
        arrow_maker maker = {.seed = 3,
                             .first_row = i * 128,
                             .length = i == 0 ? 128 : 3,
                             .null_percent = 10,
                             .distinct = 9,
                             .string_max = 14};
        oci_batch *made = make_batch(columns, n_columns, &maker);
        oci_batch *batch = NULL;
        if (i == 0) {
            must(oci_schema_working(made->schema, &schema, &err), &err);
            must(oci_run_writer_create(file, schema, mem, NULL, &writer, &err), &err);
            must(oci_run_writer_begin(writer, &err), &err);
        }
        must(oci_gather_range(schema, made, 0, made->length, 0, mem, NULL, &batch, &err), &err);
        must(oci_run_writer_add(writer, batch, &err), &err);
        oci_batch_release(made);
    }
    must(oci_run_writer_finish(writer, extent, &err), &err);
    oci_run_writer_destroy(writer);
    oci_schema_release(schema);
}

static void save(oci_spill_file *file, const oci_run_extent *extent, uint8_t choice,
                 const char *path)
{
    oc_error err = {0};
    uint8_t *bytes = malloc((size_t)extent->bytes + 1);
    FILE *to = fopen(path, "wb");
    if (bytes == NULL || to == NULL) {
        perror(path);
        exit(1);
    }
    must(oci_spill_read(file, bytes, extent->bytes, extent->offset, &err), &err);
    bytes[extent->bytes] = choice;
    if (fwrite(bytes, 1, (size_t)extent->bytes + 1, to) != (size_t)extent->bytes + 1 ||
        fclose(to) != 0) {
        perror(path);
        exit(1);
    }
    free(bytes);
}

static void write_seed(const char *folder, int32_t number)
{
    static const char *const folders[] = {"/tmp"};
    const char *const *columns = tables[number % N_TABLES];
    int32_t n_columns = 0;
    while (n_columns < COLUMNS_MAX && columns[n_columns] != NULL) {
        n_columns++;
    }
    oci_spill_settings settings = {
        .folders = folders,
        .n_folders = 1,
        .codec = (oci_codec_id)(number / N_TABLES % 3),
        .encoding = (oci_spill_encoding)((number % N_TABLES + number / N_TABLES) % 3),
        .no_checksums = number % 2 == 0,
    };
    oc_error err = {0};
    oci_budget *budget = NULL;
    oci_mem *mem = NULL;
    oci_spill_manager *manager = NULL;
    oci_spill_file *file = NULL;
    oci_run_extent extent = {0};
    must(oci_budget_create(16 * MIB, NULL, &budget, &err), &err);
    must(oci_mem_open(budget, "seeds", &mem, &err), &err);
    must(oci_spill_manager_create(oci_posix_io(), &settings, &manager, &err), &err);
    must(oci_spill_file_open(manager, &file, &err), &err);
    write_batches(file, columns, n_columns, mem, &extent);
    char path[4096];
    snprintf(path, sizeof path, "%s/seed-%02d-%s", folder, (int)number,
             oci_codec_name(settings.codec));
    save(file, &extent, (uint8_t)number, path);
    oci_spill_file_close(file);
    oci_spill_manager_release(manager);
    oci_mem_close(mem);
    oci_budget_destroy(budget);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: spill_seeds FOLDER\n");
        return 1;
    }
    for (int32_t number = 0; number < 3 * N_TABLES; number++) {
        write_seed(argv[1], number);
    }
    return 0;
}
