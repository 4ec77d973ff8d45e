/* See spill_setup.h. */
#include "api/spill_setup.h"

#include <stdlib.h>

#include "spill/seal.h"

#define FOLDERS_MAX 1024

static oci_codec_id codec_of(oc_codec codec)
{
    switch (codec) {
    case OC_CODEC_NONE: return OCI_CODEC_NONE;
    case OC_CODEC_ZSTD: return OCI_CODEC_ZSTD;
    default: return OCI_CODEC_LZ4_FRAME; /* AUTO takes none of the settings' codec and level */
    }
}

/* A level that the codec does not take would otherwise be heard of at the first spill. */
static oc_status check_codec(const oci_spill_request *request, oc_error *err)
{
    if ((int)request->codec < 0 || request->codec > OC_CODEC_ZSTD) {
        OC_FAIL(err, OC_EINVAL, "unknown spill codec %d", (int)request->codec);
    }
    oci_codec *codec;
    OC_TRY(oci_codec_create(codec_of(request->codec), request->level, &codec, err));
    oci_codec_destroy(codec);
    return OC_OK;
}

oc_status oci_spill_check(const oci_spill_request *request, oc_error *err)
{
    if (request->disk_limit < 0) {
        OC_FAIL(err, OC_EINVAL, "disk limit must not be negative");
    }
    if (request->n_temp_dirs > FOLDERS_MAX) {
        OC_FAIL(err, OC_EINVAL, "too many folders for spill files: %zu of at most %d",
                request->n_temp_dirs, FOLDERS_MAX);
    }
    if ((int)request->encoding < 0 || request->encoding > OC_SPILL_ENCODING_LENGTHS) {
        OC_FAIL(err, OC_EINVAL, "unknown spill encoding %d", (int)request->encoding);
    }
    if (request->encrypt && !oci_seal_is_available()) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "could not encrypt spill files: Outcore was built without libsodium");
    }
    return check_codec(request, err);
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
static oc_status check_folders(const oci_io *io, const oci_spill_manager *spill, oc_error *err)
{
    for (int32_t i = 0; i < spill->n_folders; i++) {
        oci_file *file;
        oc_status status = oci_open(io, spill->folders[i], OCI_OPEN_SCRATCH, &file, err);
        if (status != OC_OK) {
            oci_error_prefix(
                err, "folder for spill files cannot be used; choose another with --temp-dir");
            return status;
        }
        OC_TRY(oci_close(file, err));
    }
    return OC_OK;
}

static oci_spill_encoding encoding_of(oc_spill_encoding encoding)
{
    switch (encoding) {
    case OC_SPILL_ENCODING_PLAIN: return OCI_SPILL_ENCODING_PLAIN;
    case OC_SPILL_ENCODING_LENGTHS: return OCI_SPILL_ENCODING_LENGTHS;
    default: return OCI_SPILL_ENCODING_AUTO;
    }
}

oc_status oci_spill_set_up(const oci_env *env, const oci_spill_request *request,
                           oci_spill_manager **out, oc_error *err)
{
    const char *fallback = default_folder();
    bool has_folders = request->temp_dirs != NULL && request->n_temp_dirs > 0;
    oci_spill_settings settings = {
        .folders = has_folders ? request->temp_dirs : &fallback,
        .n_folders = has_folders ? (int32_t)request->n_temp_dirs : 1,
        .disk_limit = request->disk_limit,
        .is_codec_auto = request->codec == OC_CODEC_AUTO,
        .codec = codec_of(request->codec),
        .level = request->level,
        .encoding = encoding_of(request->encoding),
        .no_checksums = request->without_checksums,
        .is_sealed = request->encrypt,
        .clock = env->clock,
    };
    OC_TRY(oci_spill_manager_create(env->io, &settings, out, err));
    oc_status status = check_folders(env->io, *out, err);
    if (status != OC_OK) {
        oci_spill_manager_release(*out);
        *out = NULL;
    }
    return status;
}

const char *oci_spill_codec_name(const oci_spill_manager *spill)
{
    return spill->settings.is_codec_auto ? "auto" : oci_codec_name(spill->settings.codec);
}

const char *oci_spill_encoding_name(const oci_spill_manager *spill)
{
    switch (spill->settings.encoding) {
    case OCI_SPILL_ENCODING_PLAIN: return "plain";
    case OCI_SPILL_ENCODING_LENGTHS: return "lengths";
    case OCI_SPILL_ENCODING_AUTO: break;
    }
    return "auto";
}
