/* From a message in memory to a batch.
 *
 *   message + body (slab)
 *     -> unpack (compressed bodies only: a new slab, the message's buffers rewritten to it)
 *     -> columns (each node and buffer held against the rows, pointers into the slab)
 *     -> values validated, dictionaries attached
 *     -> oci_batch that owns the slab and keeps the dictionaries
 *
 * Dictionaries. One entry per dictionary id holds the values as a batch of one column, with nothing
 * attached to the dictionary columns that these may have inside. What a batch refers to is settled
 * when it comes: its dictionaries, and what is inside of them, are those of that moment, in
 * whatever order they were sent. So an entry with dictionaries inside is "settled" by copying its
 * few structs and attaching to the copies; that is done again only when one of those inside has
 * changed. A batch keeps the settled values alive, and these the ones inside, so that replacing a
 * dictionary does not disturb what was handed out before.
 *
 * Dictionary fields are numbered depth first from the outside in ("rank"), as their ids are.
 *
 * Trust. The structure is always checked, since it is cheap (a few numbers per buffer). What costs
 * a pass over the rows (offsets in order, views, indices, null counts) is left out for data that we
 * wrote ourselves. Values of dictionaries are validated when they come or are settled, and only the
 * indices with each batch: for that, dictionaries are first stood in for by something as long.
 *
 * Memory. Slabs come from the account. Lists with an entry per column, dictionary or buffer of a
 * message come from malloc: they grow with the schema, not with rows. */
#include "ipc/decoder.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "ipc/decoder_body.h"
#include "ipc/decoder_columns.h"
#include "ipc/dictionaries.h"
#include "ipc/layout_walk.h"

typedef struct dictionary_entry {
    int64_t id;
    oci_schema *schema;   /* one field: type of the values, name of the first field that uses it */
    int32_t first_inside; /* rank of the first dictionary field in the type of the values */
    int32_t n_inside;
    oci_batch *values;  /* as they came; NULL until sent */
    oci_batch *settled; /* with everything attached; NULL when that is to be done */
    int64_t changed_at; /* n_changes when the values came */
    int64_t settled_at; /* n_changes when they were settled */
    int64_t kept_by;    /* serial number of the batch that keeps the settled values already */
} dictionary_entry;

struct oci_ipc_decoder {
    oci_schema *schema;
    bool trusted;
    oci_mem *mem;
    oci_codec *codecs[OCI_CODEC_ZSTD + 1]; /* made when first needed */
    int32_t n_ranks;
    int32_t *entry_of_rank; /* index into entries, -1 = not known yet */
    int32_t n_entries;
    dictionary_entry *entries; /* by ascending id */
    int64_t n_changes;         /* dictionary messages so far */
    int64_t serial;            /* of the last batch that was finished */
};

static const uint8_t nothing[64] __attribute__((aligned(64)));

static oc_status fail_memory(oc_error *err)
{
    OC_FAIL(err, OC_ENOMEM, "out of memory while making a decoder");
}

/* ---- life ------------------------------------------------------------------------------------ */

static int compare_ids(const void *a, const void *b)
{
    int64_t x = ((const dictionary_entry *)a)->id;
    int64_t y = ((const dictionary_entry *)b)->id;
    return (x > y) - (x < y);
}

static dictionary_entry *find_entry(const oci_ipc_decoder *decoder, int64_t id)
{
    dictionary_entry key = {.id = id};
    return bsearch(&key, decoder->entries, (size_t)decoder->n_entries, sizeof key, compare_ids);
}

/* A schema of one column with the type of the values of `field`. */
static oc_status make_value_schema(const oci_field *field, oci_schema **out, oc_error *err)
{
    oci_field *fields = calloc(1, sizeof *fields);
    if (fields == NULL) {
        return fail_memory(err);
    }
    oc_status status = oci_field_copy(field->dictionary, fields, err);
    if (status != OC_OK) {
        free(fields);
        return status;
    }
    char *name = strdup(field->name);
    if (name == NULL) {
        oci_field_deinit(fields);
        free(fields);
        return fail_memory(err);
    }
    free(fields->name);
    fields->name = name;
    return oci_schema_create(fields, 1, NULL, 0, out, err);
}

/* Fields may share an id when their values have one type, and one set of dictionaries inside. */
static oc_status check_shared(const oci_ipc_decoder *decoder, const dictionary_entry *entry,
                              const oci_field *field, int32_t first_inside, oc_error *err)
{
    const oci_field *first = &entry->schema->fields[0];
    bool same = oci_field_same_type(first, field->dictionary);
    for (int32_t i = 0; same && i < entry->n_inside; i++) {
        same = decoder->entry_of_rank[entry->first_inside + i] ==
               decoder->entry_of_rank[first_inside + i];
    }
    if (!same) {
        OC_FAIL(err, OC_EDATA,
                "columns \"%.80s\" and \"%.80s\" share dictionary %" PRId64
                " although their types differ",
                first->name, field->name, entry->id);
    }
    return OC_OK;
}

/* Numbers the dictionary fields of a tree from *rank on and connects them with their entries.
 * `ids` has the id of each rank. */
static oc_status connect_field(oci_ipc_decoder *decoder, const oci_field *field, const int64_t *ids,
                               int32_t *rank, oc_error *err)
{
    for (int32_t i = 0; i < field->n_children; i++) {
        OC_TRY(connect_field(decoder, &field->children[i], ids, rank, err));
    }
    if (field->dictionary == NULL) {
        return OC_OK;
    }
    dictionary_entry *entry = find_entry(decoder, ids[*rank]);
    decoder->entry_of_rank[(*rank)++] = (int32_t)(entry - decoder->entries);
    int32_t first_inside = *rank;
    OC_TRY(connect_field(decoder, field->dictionary, ids, rank, err));
    if (entry->schema != NULL) {
        return check_shared(decoder, entry, field, first_inside, err);
    }
    entry->first_inside = first_inside;
    entry->n_inside = *rank - first_inside;
    return make_value_schema(field, &entry->schema, err);
}

/* One entry for each different id. */
static void make_entries(oci_ipc_decoder *decoder, const int64_t *ids)
{
    for (int32_t i = 0; i < decoder->n_ranks; i++) {
        decoder->entries[i].id = ids[i];
        decoder->entry_of_rank[i] = -1;
    }
    qsort(decoder->entries, (size_t)decoder->n_ranks, sizeof *decoder->entries, compare_ids);
    for (int32_t i = 0; i < decoder->n_ranks; i++) {
        int64_t id = decoder->entries[i].id;
        if (i == 0 || id != decoder->entries[decoder->n_entries - 1].id) {
            decoder->entries[decoder->n_entries++].id = id;
        }
    }
}

static oc_status connect_dictionaries(oci_ipc_decoder *decoder, const oci_dictionary_ids *ids,
                                      oc_error *err)
{
    int64_t *list = calloc((size_t)decoder->n_ranks + 1, sizeof *list);
    decoder->entries = calloc((size_t)decoder->n_ranks + 1, sizeof *decoder->entries);
    decoder->entry_of_rank = calloc((size_t)decoder->n_ranks + 1, sizeof *decoder->entry_of_rank);
    if (list == NULL || decoder->entries == NULL || decoder->entry_of_rank == NULL) {
        free(list);
        return fail_memory(err);
    }
    assert(ids == NULL || ids->n == decoder->n_ranks);
    for (int32_t i = 0; i < decoder->n_ranks; i++) {
        list[i] = ids != NULL ? ids->ids[i] : i;
    }
    make_entries(decoder, list);
    int32_t rank = 0;
    oc_status status = OC_OK;
    for (int32_t i = 0; i < decoder->schema->n_fields && status == OC_OK; i++) {
        status = connect_field(decoder, &decoder->schema->fields[i], list, &rank, err);
    }
    free(list);
    return status;
}

oc_status oci_ipc_decoder_create(oci_schema *schema, const oci_dictionary_ids *ids, bool trusted,
                                 oci_mem *mem, oci_ipc_decoder **out, oc_error *err)
{
    *out = NULL;
    oci_ipc_decoder *decoder = calloc(1, sizeof *decoder);
    if (decoder == NULL) {
        return fail_memory(err);
    }
    decoder->schema = oci_schema_retain(schema);
    decoder->trusted = trusted;
    decoder->mem = mem;
    decoder->n_ranks = (int32_t)oci_schema_shape(schema, OCI_IPC_V5).n_dictionaries;
    oc_status status = connect_dictionaries(decoder, ids, err);
    if (status != OC_OK) {
        oci_ipc_decoder_destroy(decoder);
        return status;
    }
    *out = decoder;
    return OC_OK;
}

static void forget_settled(dictionary_entry *entry)
{
    oci_batch_release(entry->settled);
    entry->settled = NULL;
}

void oci_ipc_decoder_restart(oci_ipc_decoder *decoder)
{
    for (int32_t i = 0; i < decoder->n_entries; i++) {
        forget_settled(&decoder->entries[i]);
        oci_batch_release(decoder->entries[i].values);
        decoder->entries[i].values = NULL;
    }
}

void oci_ipc_decoder_destroy(oci_ipc_decoder *decoder)
{
    if (decoder == NULL) {
        return;
    }
    oci_ipc_decoder_restart(decoder);
    for (int32_t i = 0; i < decoder->n_entries; i++) {
        oci_schema_release(decoder->entries[i].schema);
    }
    for (int i = 0; i <= OCI_CODEC_ZSTD; i++) {
        oci_codec_destroy(decoder->codecs[i]);
    }
    free(decoder->entries);
    free(decoder->entry_of_rank);
    oci_schema_release(decoder->schema);
    free(decoder);
}

/* ---- attaching ------------------------------------------------------------------------------- */

/* Columns on the way to a batch, in structs that can still be changed. */
typedef struct attach_job {
    oci_ipc_decoder *decoder;
    oci_column *stand_ins; /* one for each dictionary column, or NULL = attach the real thing */
    bool any_index;        /* with stand-ins: dictionaries may have any length */
    int32_t n_stand_ins;
    oci_batch *keeper; /* keeps what is attached; NULL with stand-ins */
    int64_t serial;
} attach_job;

static oc_status settle(oci_ipc_decoder *decoder, dictionary_entry *entry, oc_error *err);

/* As long as the dictionary, which is all that indices are held against. */
static const oci_column *make_stand_in(attach_job *job, int64_t length)
{
    static char no_name[] = "";
    static const oci_field plain = {.name = no_name, .type = OCI_TYPE_INT8, .byte_width = 1};
    oci_column *column = &job->stand_ins[job->n_stand_ins++];
    *column = (oci_column){.field = &plain, .length = length, .values = nothing};
    return column;
}

static oc_status attach_dictionary(attach_job *job, oci_column *column, int32_t rank, oc_error *err)
{
    dictionary_entry *entry = &job->decoder->entries[job->decoder->entry_of_rank[rank]];
    if (job->any_index) {
        column->dictionary = make_stand_in(job, INT64_MAX);
        return OC_OK;
    }
    /* Arrow lets a dictionary be missing as long as no value is needed. */
    if (entry->values == NULL && column->null_count != column->length) {
        OC_FAIL(err, OC_EDATA,
                "column \"%.80s\" needs dictionary %" PRId64 ", which was not sent before it",
                column->field->name, entry->id);
    }
    OC_TRY(settle(job->decoder, entry, err));
    if (job->stand_ins != NULL) {
        column->dictionary = make_stand_in(job, entry->settled->length);
        return OC_OK;
    }
    column->dictionary = &entry->settled->columns[0];
    if (entry->kept_by != job->serial) {
        entry->kept_by = job->serial;
        return oci_batch_keep(job->keeper, oci_batch_retain(entry->settled), err);
    }
    return OC_OK;
}

/* Attaches to all dictionary columns of a tree, the first of which has *rank. */
static oc_status attach_tree(attach_job *job, oci_column *column, int32_t *rank, oc_error *err)
{
    if (column->field->dictionary != NULL) {
        OC_TRY(attach_dictionary(job, column, *rank, err));
        *rank += 1 + job->decoder->entries[job->decoder->entry_of_rank[*rank]].n_inside;
    }
    oci_column *children = (oci_column *)column->children;
    for (int32_t i = 0; i < column->field->n_children; i++) {
        OC_TRY(attach_tree(job, &children[i], rank, err));
    }
    return OC_OK;
}

static oc_status attach_all(attach_job *job, const oci_schema *schema, oci_column *columns,
                            int32_t rank, oc_error *err)
{
    for (int32_t i = 0; i < schema->n_fields; i++) {
        OC_TRY(attach_tree(job, &columns[i], &rank, err));
    }
    return OC_OK;
}

static void detach_tree(oci_column *column)
{
    column->dictionary = NULL;
    oci_column *children = (oci_column *)column->children;
    for (int32_t i = 0; i < column->field->n_children; i++) {
        detach_tree(&children[i]);
    }
}

/* Validates columns, whose first dictionary has `rank`. With `any_index` the indices are not held
 * against the dictionaries, which need not be there. */
static oc_status validate_columns(oci_ipc_decoder *decoder, const oci_schema *schema,
                                  oci_column *columns, int32_t rank, bool any_index, oc_error *err)
{
    if (decoder->trusted) {
        return OC_OK;
    }
    attach_job job = {.decoder = decoder,
                      .stand_ins = calloc((size_t)decoder->n_ranks + 1, sizeof(oci_column)),
                      .any_index = any_index};
    if (job.stand_ins == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while making a batch");
    }
    oc_status status = attach_all(&job, schema, columns, rank, err);
    for (int32_t i = 0; i < schema->n_fields && status == OC_OK; i++) {
        status = oci_column_validate(&columns[i], -1, err);
    }
    for (int32_t i = 0; i < schema->n_fields; i++) {
        detach_tree(&columns[i]);
    }
    free(job.stand_ins);
    return status;
}

/* Validates a batch and attaches its dictionaries. The structs of its columns are its own. */
static oc_status finish_batch(oci_ipc_decoder *decoder, oci_batch *batch, int32_t rank,
                              oc_error *err)
{
    OC_TRY(validate_columns(decoder, batch->schema, batch->columns, rank, false, err));
    attach_job job = {.decoder = decoder, .keeper = batch, .serial = ++decoder->serial};
    return attach_all(&job, batch->schema, batch->columns, rank, err);
}

/* ---- dictionaries ---------------------------------------------------------------------------- */

/* Has nothing inside of the settled values been replaced? */
static bool is_settled(const oci_ipc_decoder *decoder, const dictionary_entry *entry)
{
    bool settled = entry->settled != NULL;
    for (int32_t i = 0; settled && i < entry->n_inside; i++) {
        int32_t inside = decoder->entry_of_rank[entry->first_inside + i];
        settled = decoder->entries[inside].changed_at <= entry->settled_at;
    }
    return settled;
}

/* The values, or none when they were not sent, in structs of their own. */
static oc_status copy_values(const dictionary_entry *entry, oci_batch **out, oc_error *err)
{
    oci_decoded_columns copy = {0};
    oci_batch *values = entry->values;
    OC_TRY(values != NULL ? oci_columns_copy(entry->schema, values->columns, &copy, err)
                          : oci_columns_make_empty(entry->schema, &copy, err));
    OC_TRY(oci_batch_adopt(entry->schema, values != NULL ? values->length : 0, copy.columns, NULL,
                           NULL, 0, copy.extra, copy.extra_bytes, out, err));
    oc_status status = values != NULL ? oci_batch_keep(*out, oci_batch_retain(values), err) : OC_OK;
    if (status != OC_OK) {
        oci_batch_release(*out);
        *out = NULL;
    }
    return status;
}

/* Makes the values of an entry fit to be attached. Recurses into the dictionaries inside, which are
 * fewer each time. */
static oc_status settle(oci_ipc_decoder *decoder, dictionary_entry *entry, oc_error *err)
{
    if (is_settled(decoder, entry)) {
        return OC_OK;
    }
    forget_settled(entry);
    oci_batch *settled = NULL;
    if (entry->values != NULL && entry->n_inside == 0) {
        settled = oci_batch_retain(entry->values);
    } else {
        OC_TRY(copy_values(entry, &settled, err));
        oc_status status = finish_batch(decoder, settled, entry->first_inside, err);
        if (status != OC_OK) {
            oci_batch_release(settled);
            return status;
        }
    }
    entry->settled = settled;
    entry->settled_at = decoder->n_changes;
    return OC_OK;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Makes a batch with nothing attached; it takes the slab of `body`. */
static oc_status take_batch(oci_ipc_decoder *decoder, oci_schema *schema, oci_ipc_body *body,
                            oci_batch **out, oc_error *err)
{
    oci_decoded_columns columns;
    OC_TRY(oci_columns_take(schema, &body->message, body->data, decoder->trusted, &columns, err));
    void *slab = body->slab;
    body->slab = NULL;
    return oci_batch_adopt(schema, body->message.length, columns.columns, body->mem, slab,
                           body->slab_bytes, columns.extra, columns.extra_bytes, out, err);
}

static oc_status decode_batch(oci_ipc_decoder *decoder, oci_ipc_body *body, oci_batch **out,
                              oc_error *err)
{
    OC_TRY(take_batch(decoder, decoder->schema, body, out, err));
    oc_status status = finish_batch(decoder, *out, 0, err);
    if (status != OC_OK) {
        oci_batch_release(*out);
        *out = NULL;
    }
    return status;
}

/* Values of a dictionary message; those of a delta are put behind the ones that were there. */
static oc_status take_values(oci_ipc_decoder *decoder, const dictionary_entry *entry,
                             oci_ipc_body *body, oci_batch **out, oc_error *err)
{
    OC_TRY(take_batch(decoder, entry->schema, body, out, err));
    oci_batch *added = *out;
    oc_status status = OC_OK;
    OC_GOTO(
        validate_columns(decoder, entry->schema, added->columns, entry->first_inside, true, err));
    if (body->message.dictionary_delta && entry->values != NULL) {
        *out = NULL;
        OC_GOTO(oci_dictionary_concat(entry->schema, entry->values, added, decoder->mem, out, err));
        oci_batch_release(added);
    }
    return OC_OK;
done:
    oci_batch_release(added);
    *out = NULL;
    return status;
}

/* Remembers what a dictionary message brought. */
static oc_status decode_dictionary(oci_ipc_decoder *decoder, oci_ipc_body *body, oc_error *err)
{
    dictionary_entry *entry = find_entry(decoder, body->message.dictionary_id);
    if (entry == NULL) {
        OC_FAIL(err, OC_EDATA, "no column uses dictionary %" PRId64, body->message.dictionary_id);
    }
    oci_batch *values = NULL;
    OC_TRY(take_values(decoder, entry, body, &values, err));
    oci_batch_release(entry->values);
    entry->values = values;
    forget_settled(entry);
    entry->changed_at = ++decoder->n_changes;
    return OC_OK;
}

static oc_status unpack(oci_ipc_decoder *decoder, oci_ipc_body *body, oci_reservation *from,
                        oc_error *err)
{
    oci_codec_id id = body->message.codec;
    if (decoder->codecs[id] == NULL) {
        OC_TRY(oci_codec_create(id, 0, &decoder->codecs[id], err));
    }
    return oci_ipc_body_unpack(body, decoder->codecs[id], decoder->mem, from, err);
}

oc_status oci_ipc_decode(oci_ipc_decoder *decoder, const oci_message *message, void *slab,
                         int64_t slab_bytes, int64_t body_offset, oci_reservation *from,
                         oci_batch **out, oc_error *err)
{
    *out = NULL;
    oci_ipc_body body = {.message = *message,
                         .mem = decoder->mem,
                         .slab = slab,
                         .slab_bytes = slab_bytes,
                         .data = slab == NULL ? nothing : (const uint8_t *)slab + body_offset};
    oc_status status = OC_OK;
    if (body_offset < 0 || message->body_bytes > slab_bytes - body_offset) {
        status = OC_SET(err, OC_EDATA,
                        "message body of %" PRId64 " bytes ends %" PRId64 " bytes early",
                        message->body_bytes, message->body_bytes - (slab_bytes - body_offset));
    } else if (message->codec != OCI_CODEC_NONE) {
        status = unpack(decoder, &body, from, err);
    }
    if (status == OC_OK) {
        assert(message->kind != OCI_MESSAGE_SCHEMA);
        status = message->kind == OCI_MESSAGE_DICTIONARY ? decode_dictionary(decoder, &body, err)
                                                         : decode_batch(decoder, &body, out, err);
    }
    oci_ipc_body_deinit(&body);
    return status;
}
