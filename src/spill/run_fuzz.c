/* libFuzzer target: any bytes as a spill file.
 *
 * The last byte chooses whether checksums are verified and whether values are, and how much memory
 * there is. Every value that was verified is looked at; nothing may stay charged, and no more than the
 * limit may ever have been. */
#include <stdio.h>
#include <stdlib.h>

#include "spill/run.h"
#include "support/byte_file.h"

#define KIB          ((int64_t)1024)
#define BATCHES_MAX  256
#define LOOK_AT_ROWS 1000 /* rows that take no bytes are easily claimed */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define require(condition)                                                          \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                \
        }                                                                           \
    } while (0)

static void look_at(const oci_batch *batch)
{
    static volatile uint64_t hash;
    require(oci_batch_validate(batch, NULL) == OC_OK);
    for (int64_t row = 0; row < batch->length && row < LOOK_AT_ROWS; row++) {
        for (int32_t i = 0; i < batch->schema->n_fields; i++) {
            hash = oci_value_hash(&batch->columns[i], row, hash);
        }
    }
}

static void read_all(oci_spill_manager *manager, const uint8_t *data, int64_t size, bool trusted,
                     oci_mem *mem)
{
    oci_spill_file *file = NULL;
    oci_run_decoder *decoder = NULL;
    require(oci_spill_file_wrap(manager, byte_file_open(data, size, 0), size, &file, NULL) ==
            OC_OK);
    require(oci_run_decoder_create(manager, NULL, trusted, mem, &decoder, NULL) == OC_OK);
    oci_run_extent extent = {.bytes = size};
    oci_run_cursor cursor = {0};
    oci_run_cursor_start(&cursor, file, &extent);
    cursor.is_kept = true;
    oci_batch *batch = NULL;
    oc_error err = {0};
    oc_status status = OC_OK;
    for (int n = 0; n < BATCHES_MAX; n++) {
        status = oci_run_cursor_next(&cursor, decoder, &batch, &err);
        if (status != OC_OK || batch == NULL) {
            break;
        }
        if (!trusted) {
            look_at(batch);
        }
        oci_batch_release(batch);
    }
    require(status == OC_OK || err.message[0] != '\0');
    require(status == OC_OK || status == OC_EDATA || status == OC_EUNSUPPORTED ||
            status == OC_EBUDGET);
    oci_run_cursor_finish(&cursor);
    oci_run_decoder_destroy(decoder);
    oci_spill_file_close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const folders[] = {"/tmp"};
    if (size == 0) {
        return 0;
    }
    uint8_t choice = data[size - 1];
    oci_budget *budget = NULL;
    oci_mem *mem = NULL;
    oci_spill_manager *manager = NULL;
    oci_spill_settings settings = {
        .folders = folders, .n_folders = 1, .no_checksums = choice % 2 == 0};
    require(oci_budget_create((choice & 4) != 0 ? 256 * KIB : 16 * KIB * KIB, NULL, &budget,
                              NULL) == OC_OK);
    require(oci_mem_open(budget, "fuzz", &mem, NULL) == OC_OK);
    require(oci_spill_manager_create(oci_posix_io(), &settings, &manager, NULL) == OC_OK);
    read_all(manager, data, (int64_t)size - 1, (choice & 2) != 0, mem);
    require(atomic_load(&manager->counters.disk_now) == 0);
    oci_spill_manager_release(manager);
    require(oci_mem_held(mem) == 0);
    require(oci_budget_peak(budget) <= oci_budget_limit(budget));
    oci_mem_close(mem);
    oci_budget_destroy(budget);
    return 0;
}
