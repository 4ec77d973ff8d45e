/* See manager.h. Structs and folder names come from malloc: one file per operator, bounded by the
 * settings. */
#include "spill/manager.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* File systems free whole blocks only, and zero the parts of blocks at the ends of a hole, which
 * costs a write: so only whole blocks are punched. 4 KiB is the block size of every common Linux
 * file system. */
#define DISK_BLOCK_BYTES 4096

struct oci_spill_file {
    oci_spill_manager *manager;
    oci_file *file;
    int64_t end;
    _Atomic int64_t live; /* written and not discarded: what closing gives back */
};

oc_status oci_spill_manager_create(const oci_io *io, const char *const *folders, int32_t n_folders,
                                   int64_t disk_limit, oci_codec_id codec, int codec_level,
                                   oci_spill_manager **out, oc_error *err)
{
    oci_spill_manager *manager = calloc(1, sizeof *manager);
    char **copies = calloc((size_t)n_folders + 1, sizeof *copies);
    bool complete = manager != NULL && copies != NULL;
    for (int32_t i = 0; complete && i < n_folders; i++) {
        copies[i] = strdup(folders[i]);
        complete = copies[i] != NULL;
    }
    if (!complete) {
        for (int32_t i = 0; copies != NULL && i < n_folders; i++) {
            free(copies[i]);
        }
        free(copies);
        free(manager);
        OC_FAIL(err, OC_ENOMEM, "could not set up spilling: out of memory");
    }
    manager->io = io;
    manager->folders = copies;
    manager->n_folders = n_folders;
    manager->disk_limit = disk_limit;
    manager->codec = codec;
    manager->codec_level = codec_level;
    atomic_init(&manager->references, 1);
    *out = manager;
    return OC_OK;
}

oci_spill_manager *oci_spill_manager_retain(oci_spill_manager *manager)
{
    atomic_fetch_add(&manager->references, 1);
    return manager;
}

void oci_spill_manager_release(oci_spill_manager *manager)
{
    if (manager == NULL || atomic_fetch_sub(&manager->references, 1) != 1) {
        return;
    }
    for (int32_t i = 0; i < manager->n_folders; i++) {
        free(manager->folders[i]);
    }
    free(manager->folders);
    free(manager);
}

oc_status oci_spill_file_open(oci_spill_manager *manager, oci_spill_file **out, oc_error *err)
{
    oci_spill_file *file = calloc(1, sizeof *file);
    if (file == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not open a spill file: out of memory");
    }
    uint32_t first = atomic_fetch_add(&manager->next_folder, 1);
    oc_status status = OC_EIO;
    for (int32_t i = 0; i < manager->n_folders; i++) {
        const char *folder = manager->folders[(first + (uint32_t)i) % (uint32_t)manager->n_folders];
        status = oci_open(manager->io, folder, OCI_OPEN_SCRATCH, &file->file, err);
        if (status == OC_OK) {
            break;
        }
    }
    if (status != OC_OK) {
        free(file);
        oci_error_prefix(err, "could not spill; choose another folder with --temp-dir");
        return status;
    }
    file->manager = oci_spill_manager_retain(manager);
    *out = file;
    return OC_OK;
}

void oci_spill_file_close(oci_spill_file *file)
{
    if (file == NULL) {
        return;
    }
    atomic_fetch_sub(&file->manager->counters.disk_now, atomic_load(&file->live));
    /* Nothing of the file is wanted any more, so a failing close loses nothing. */
    (void)oci_close(file->file, NULL);
    oci_spill_manager_release(file->manager);
    free(file);
}

/* Charges the quota; false when it does not allow `size` more. */
static bool quota_take(oci_spill_manager *manager, int64_t size)
{
    oci_spill_counters *counters = &manager->counters;
    int64_t now = atomic_fetch_add(&counters->disk_now, size) + size;
    if (manager->disk_limit > 0 && now > manager->disk_limit) {
        atomic_fetch_sub(&counters->disk_now, size);
        return false;
    }
    int64_t peak = atomic_load(&counters->disk_peak);
    while (now > peak && !atomic_compare_exchange_weak(&counters->disk_peak, &peak, now)) {
    }
    return true;
}

oc_status oci_spill_append(oci_spill_file *file, const void *data, int64_t size, int64_t *offset,
                           oc_error *err)
{
    oci_spill_manager *manager = file->manager;
    if (!quota_take(manager, size)) {
        char limit[OCI_BYTES_TEXT];
        char used[OCI_BYTES_TEXT];
        OC_FAIL(err, OC_ENOSPC,
                "could not spill %" PRId64
                " more bytes: spill files take %s of the disk limit of %s; raise "
                "--disk-limit or the memory limit",
                size, oci_format_bytes(atomic_load(&manager->counters.disk_now), used),
                oci_format_bytes(manager->disk_limit, limit));
    }
    oc_status status = oci_pwrite(file->file, data, size, file->end, err);
    if (status != OC_OK) {
        atomic_fetch_sub(&manager->counters.disk_now, size);
        oci_error_prefix(err,
                         "could not spill %" PRId64
                         " bytes; free disk space or choose another folder with "
                         "--temp-dir",
                         size);
        return status;
    }
    *offset = file->end;
    file->end += size;
    atomic_fetch_add(&file->live, size);
    atomic_fetch_add(&manager->counters.spilled_bytes, size);
    return OC_OK;
}

oc_status oci_spill_read(oci_spill_file *file, void *data, int64_t size, int64_t offset,
                         oc_error *err)
{
    return oci_pread_exact(file->file, data, size, offset, err);
}

void oci_spill_discard(oci_spill_file *file, int64_t offset, int64_t size)
{
    int64_t start = (offset + DISK_BLOCK_BYTES - 1) / DISK_BLOCK_BYTES * DISK_BLOCK_BYTES;
    int64_t end = (offset + size) / DISK_BLOCK_BYTES * DISK_BLOCK_BYTES;
    if (end > start) {
        oci_discard(file->file, start, end - start);
    }
    atomic_fetch_sub(&file->live, size);
    atomic_fetch_sub(&file->manager->counters.disk_now, size);
}

int64_t oci_spill_file_end(const oci_spill_file *file)
{
    return file->end;
}

oci_spill_manager *oci_spill_file_manager(const oci_spill_file *file)
{
    return file->manager;
}
