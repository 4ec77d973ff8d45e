/* See manager.h. Structs and folder names come from malloc: one file per operator, bounded by the
 * settings. */
#include "spill/manager.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/text.h"

struct oci_spill_file {
    oci_spill_manager *manager;
    oci_file *file;
    char *name; /* for messages */
    int64_t end;
    _Atomic int64_t live; /* written and not discarded: what closing gives back */
};

static oc_status fail_memory(oc_error *err)
{
    OC_FAIL(err, OC_ENOMEM, "could not set up spilling: out of memory");
}

static oc_status copy_folders(oci_spill_manager *manager, const oci_spill_settings *settings,
                              oc_error *err)
{
    manager->folders = calloc((size_t)settings->n_folders + 1, sizeof *manager->folders);
    if (manager->folders == NULL) {
        return fail_memory(err);
    }
    for (int32_t i = 0; i < settings->n_folders; i++) {
        manager->folders[i] = strdup(settings->folders[i]);
        if (manager->folders[i] == NULL) {
            return fail_memory(err);
        }
        manager->n_folders++;
    }
    return OC_OK;
}

oc_status oci_spill_manager_create(const oci_io *io, const oci_spill_settings *settings,
                                   oci_spill_manager **out, oc_error *err)
{
    oci_spill_manager *manager = calloc(1, sizeof *manager);
    if (manager == NULL) {
        return fail_memory(err);
    }
    atomic_init(&manager->references, 1);
    manager->io = io;
    manager->settings = *settings;
    manager->settings.folders = NULL;
    if (manager->settings.clock == NULL) {
        manager->settings.clock = oci_system_clock();
    }
    oc_status status = copy_folders(manager, settings, err);
    if (status == OC_OK && settings->is_codec_auto) {
        status = oci_codec_choice_create(&manager->choice, err);
    }
    if (status == OC_OK && settings->is_sealed) {
        status = oci_seal_create(settings->random, NULL, &manager->seal, err);
    }
    if (status != OC_OK) {
        oci_spill_manager_release(manager);
        return status;
    }
    *out = manager;
    return OC_OK;
}

oc_status oci_spill_manager_part(oci_spill_manager *parent, oci_spill_manager **out, oc_error *err)
{
    parent = oci_spill_root(parent);
    oci_spill_manager *part = calloc(1, sizeof *part);
    if (part == NULL) {
        return fail_memory(err);
    }
    part->io = parent->io;
    part->folders = parent->folders;
    part->n_folders = parent->n_folders;
    part->settings = parent->settings;
    part->choice = parent->choice;
    part->seal = parent->seal;
    part->parent = oci_spill_manager_retain(parent);
    atomic_init(&part->references, 1);
    *out = part;
    return OC_OK;
}

int64_t oci_spill_now(const oci_spill_manager *manager)
{
    const oci_clock *clock = manager->settings.clock;
    return clock->now_ns(clock->self);
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
    if (manager->parent != NULL) { /* all that it has is its parent's */
        oci_spill_manager_release(manager->parent);
        free(manager);
        return;
    }
    for (int32_t i = 0; i < manager->n_folders; i++) {
        free(manager->folders[i]);
    }
    free(manager->folders);
    oci_codec_choice_destroy(manager->choice);
    oci_seal_destroy(manager->seal);
    free(manager);
}

/* Takes `opened`, also on failure; `name` is copied behind `kind`. */
static oc_status make_file(oci_spill_manager *manager, oci_file *opened, const char *kind,
                           const char *name, oci_spill_file **out, oc_error *err)
{
    oci_spill_file *file = calloc(1, sizeof *file);
    size_t size = strlen(kind) + strlen(name) + 1;
    char *text = malloc(size);
    if (file == NULL || text == NULL) {
        free(file);
        free(text);
        (void)oci_close(opened, NULL);
        OC_FAIL(err, OC_ENOMEM, "could not open a spill file: out of memory");
    }
    snprintf(text, size, "%s%s", kind, name);
    file->manager = oci_spill_manager_retain(manager);
    file->file = opened;
    file->name = text;
    *out = file;
    return OC_OK;
}

oc_status oci_spill_file_open(oci_spill_manager *manager, oci_spill_file **out, oc_error *err)
{
    uint32_t first = atomic_fetch_add(&manager->next_folder, 1);
    oc_status status = OC_EIO;
    for (int32_t i = 0; i < manager->n_folders; i++) {
        const char *folder = manager->folders[(first + (uint32_t)i) % (uint32_t)manager->n_folders];
        oci_file *file;
        status = oci_open(manager->io, folder, OCI_OPEN_SCRATCH, &file, err);
        if (status == OC_OK) {
            return make_file(manager, file, "spill file in ", folder, out, err);
        }
    }
    oci_error_prefix(err, "could not spill; choose another folder with --temp-dir");
    return status;
}

oc_status oci_spill_file_wrap(oci_spill_manager *manager, oci_file *file, int64_t size,
                              oci_spill_file **out, oc_error *err)
{
    OC_TRY(make_file(manager, file, "", file->name, out, err));
    (*out)->end = size;
    return OC_OK;
}

void oci_spill_file_close(oci_spill_file *file)
{
    if (file == NULL) {
        return;
    }
    atomic_fetch_sub(&oci_spill_root(file->manager)->counters.disk_now, atomic_load(&file->live));
    /* Nothing of the file is wanted any more, so a failing close loses nothing. */
    (void)oci_close(file->file, NULL);
    oci_spill_manager_release(file->manager);
    free(file->name);
    free(file);
}

/* Charges the quota; false when it does not allow `size` more. */
static bool quota_take(oci_spill_manager *manager, int64_t size)
{
    oci_spill_counters *counters = &oci_spill_root(manager)->counters;
    int64_t now = atomic_fetch_add(&counters->disk_now, size) + size;
    if (manager->settings.disk_limit > 0 && now > manager->settings.disk_limit) {
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
                size,
                oci_format_bytes(atomic_load(&oci_spill_root(manager)->counters.disk_now), used),
                oci_format_bytes(manager->settings.disk_limit, limit));
    }
    OCI_SPILL_ADD(manager, writes, 1);
    oc_status status = oci_pwrite(file->file, data, size, file->end, err);
    if (status != OC_OK) {
        atomic_fetch_sub(&oci_spill_root(manager)->counters.disk_now, size);
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
    OCI_SPILL_ADD(manager, spilled_bytes, size);
    return OC_OK;
}

oc_status oci_spill_read(oci_spill_file *file, void *data, int64_t size, int64_t offset,
                         oc_error *err)
{
    return oci_pread_exact(file->file, data, size, offset, err);
}

void oci_spill_discard(oci_spill_file *file, int64_t offset, int64_t size)
{
    int64_t start = oci_round_up(offset, OCI_SPILL_DISK_BLOCK_BYTES);
    int64_t end = oci_round_down(offset + size, OCI_SPILL_DISK_BLOCK_BYTES);
    if (end > start) {
        oci_discard(file->file, start, end - start);
    }
    atomic_fetch_sub(&file->live, size);
    atomic_fetch_sub(&oci_spill_root(file->manager)->counters.disk_now, size);
}

int64_t oci_spill_file_end(const oci_spill_file *file)
{
    return file->end;
}

const char *oci_spill_file_name(const oci_spill_file *file)
{
    return file->name;
}

oci_spill_manager *oci_spill_file_manager(const oci_spill_file *file)
{
    return file->manager;
}
