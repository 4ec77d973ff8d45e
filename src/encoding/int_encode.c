/* Writing vectors of integers, see int_vector.h.
 *
 *   plan or choice -> for each page: values -> divided -> differences, codes, runs -> pages
 *
 * A choice is a guess from a sample. When the vector turns out otherwise (a value is no multiple, one
 * distinct value too many, more bytes than the bound) the attempt is given up, that kind excluded,
 * and another one chosen; frame of reference, which never exceeds the bound, is the last.
 *
 * Memory is the caller's stack, about 65 KiB. */
#include <assert.h>
#include <string.h>

#include "encoding/int_choose.h"
#include "encoding/int_transform.h"

enum { PLAN_BLOCKS = 15 };

/* ---- sources --------------------------------------------------------------------------------- */

#define DEFINE_LOAD(name, type, wide)                                       \
    static void name(const uint8_t *from, int64_t n, uint64_t *out)         \
    {                                                                       \
        for (int64_t i = 0; i < n; i++) {                                   \
            type value;                                                     \
            memcpy(&value, from + i * (int64_t)sizeof value, sizeof value); \
            out[i] = (uint64_t)(wide)value;                                 \
        }                                                                   \
    }

DEFINE_LOAD(load_int8, int8_t, int64_t)
DEFINE_LOAD(load_int16, int16_t, int64_t)
DEFINE_LOAD(load_int32, int32_t, int64_t)
DEFINE_LOAD(load_uint8, uint8_t, uint64_t)
DEFINE_LOAD(load_uint16, uint16_t, uint64_t)
DEFINE_LOAD(load_uint32, uint32_t, uint64_t)

static void array_page(const void *arg, int64_t start, int64_t n, uint64_t *out)
{
    const oci_int_array *array = arg;
    const uint8_t *from = array->values + start * array->width;
    switch (array->width) {
    case 1: (array->is_signed ? load_int8 : load_uint8)(from, n, out); break;
    case 2: (array->is_signed ? load_int16 : load_uint16)(from, n, out); break;
    case 4: (array->is_signed ? load_int32 : load_uint32)(from, n, out); break;
    default:
        assert(array->width == 8);
        memcpy(out, from, (size_t)n * 8);
        break;
    }
}

oci_int_source oci_int_array_source(const oci_int_array *array, int64_t n)
{
    return (oci_int_source){.page = array_page, .arg = array, .n = n};
}

/* ---- one attempt ----------------------------------------------------------------------------- */

/* A vector that is being written. */
typedef struct attempt {
    oci_int_header header;
    uint8_t *out;
    int64_t at; /* 0 until the header is there */
    int64_t limit;
    bool is_constant; /* all pages hold header.base and nothing else */
} attempt;

static void write_header(attempt *to)
{
    const oci_int_header *header = &to->header;
    uint8_t *at = to->out + OCI_INT_HEADER;
    int base = oci_int_put(at, header->base);
    int first = oci_int_put(at + base, header->first);
    at += base + first;
    int scale = oci_int_put(at, header->scale);
    int offset = oci_int_put(at + scale, header->offset);
    at += scale + offset;
    to->out[0] = (uint8_t)header->kind;
    to->out[1] = (uint8_t)(base | first << 4);
    to->out[2] = (uint8_t)(scale | offset << 4);
    to->out[3] = 0;
    to->at = at - to->out;
}

/* The first page gives the vector its base, and with that its header. */
static void begin(attempt *to, const oci_int_page_plan *plan)
{
    if (to->at == 0) {
        to->header.base = plan->base; /* 0 for codes */
        write_header(to);
    }
    to->is_constant = to->is_constant && plan->min_width == 0 && plan->min == to->header.base;
}

/* Writes a page if it surely fits. */
static bool put_page(attempt *to, const uint64_t *values, int64_t n, const oci_int_page_plan *plan,
                     uint64_t origin)
{
    if (oci_int_page_bound(plan, n) > to->limit - to->at) {
        return false;
    }
    to->at += oci_int_page_write(values, n, plan, origin, to->out + to->at);
    return true;
}

static bool put_values(attempt *to, const uint64_t *values, int64_t n)
{
    oci_int_page_plan plan;
    oci_int_page_plan_make(values, n, &plan);
    begin(to, &plan);
    return put_page(to, values, n, &plan, to->header.base);
}

static void take_differences(attempt *to, const uint64_t *values, int64_t n, uint64_t *before,
                             uint64_t *differences)
{
    if (to->at == 0) { /* so that the first difference is like the second */
        *before = values[0] - (n > 1 ? values[1] - values[0] : 0);
        to->header.first = *before;
    }
    oci_int_differences(values, n, *before, differences);
    *before = values[n - 1];
}

static bool put_differences(attempt *to, const uint64_t *values, int64_t n, uint64_t *before)
{
    uint64_t differences[OCI_PAGE_VALUES];
    take_differences(to, values, n, before, differences);
    return put_values(to, differences, n);
}

static bool put_runs(attempt *to, const uint64_t *values, int64_t n)
{
    uint64_t run_values[OCI_PAGE_VALUES], repeats[OCI_PAGE_VALUES];
    oci_int_page_plan plan;
    int64_t n_runs = oci_int_find_runs(values, n, run_values, repeats);
    oci_int_page_plan_make(run_values, n_runs, &plan);
    begin(to, &plan);
    const int64_t count_at = to->at;
    to->at += 2;
    if (!put_page(to, run_values, n_runs, &plan, to->header.base)) {
        return false;
    }
    oci_store_le16(to->out + count_at, (uint16_t)n_runs);
    oci_int_page_plan_make(repeats, n_runs, &plan);
    return put_page(to, repeats, n_runs, &plan, 0);
}

static bool put_codes(attempt *to, uint64_t *values, int64_t n, oci_int_dictionary *dictionary)
{
    oci_int_page_plan plan;
    if (!oci_int_dictionary_codes(dictionary, values, n, values)) {
        return false;
    }
    oci_int_page_plan_codes(values, n, dictionary->n, &plan);
    begin(to, &plan);
    return put_page(to, values, n, &plan, 0);
}

static bool put_steps(attempt *to, const uint64_t *values, int64_t n, uint64_t *before,
                      oci_int_dictionary *dictionary)
{
    uint64_t differences[OCI_PAGE_VALUES];
    take_differences(to, values, n, before, differences);
    return put_codes(to, differences, n, dictionary);
}

/* Behind the codes: what they stand for. */
static bool put_distinct(attempt *to, const oci_int_dictionary *dictionary)
{
    oci_int_page_plan plan;
    oci_int_page_plan_make(dictionary->values, dictionary->n, &plan);
    to->out[3] = (uint8_t)(dictionary->n - 1);
    return put_page(to, dictionary->values, dictionary->n, &plan, 0);
}

/* The only value there is, when there is only one. */
static bool find_constant(const attempt *from, const oci_int_dictionary *dictionary,
                          uint64_t *value)
{
    const oci_int_header *header = &from->header;
    bool stays = true; /* values that differ by what is constant are the same */
    switch (header->kind) {
    case OCI_INT_DIFFERENCES:
        *value = header->first;
        stays = header->base == 0;
        break;
    case OCI_INT_STEPS:
        *value = header->first;
        stays = dictionary->values[0] == 0;
        break;
    case OCI_INT_DICTIONARY: *value = dictionary->values[0]; break;
    default: *value = header->base; break;
    }
    if (header->scale != 0) {
        *value = header->offset + header->scale * *value;
    }
    return from->is_constant && stays;
}

static int64_t pad(uint8_t *out, int64_t at)
{
    int64_t size = oci_round_up(at, OCI_PACK_ALIGN);
    memset(out + at, 0, (size_t)(size - at));
    return size;
}

static int64_t write_constant(uint64_t value, uint8_t *out)
{
    attempt constant = {.header = {.kind = OCI_INT_CONSTANT, .base = value}, .out = out};
    write_header(&constant);
    return pad(out, constant.at);
}

/* Writes the vector as chosen; 0 when that did not work out. */
static int64_t encode_as(const oci_int_source *source, oci_int_choice choice, uint8_t *out,
                         int64_t limit)
{
    uint64_t values[OCI_PAGE_VALUES], before = 0, constant;
    oci_int_dictionary dictionary;
    attempt to = {.header = {.kind = choice.kind, .scale = choice.scale},
                  .out = out,
                  .limit = limit,
                  .is_constant = true};
    if (oci_int_has_dictionary(choice.kind)) {
        oci_int_dictionary_init(&dictionary);
    }
    for (int64_t start = 0; start < source->n; start += OCI_PAGE_VALUES) {
        int64_t n = oci_min64(source->n - start, OCI_PAGE_VALUES);
        bool ok = true;
        source->page(source->arg, start, n, values);
        if (choice.scale != 0) {
            to.header.offset = start == 0 ? values[0] : to.header.offset;
            ok = oci_int_divide(values, n, to.header.offset, choice.scale);
        }
        switch (choice.kind) {
        case OCI_INT_DIFFERENCES: ok = ok && put_differences(&to, values, n, &before); break;
        case OCI_INT_DICTIONARY: ok = ok && put_codes(&to, values, n, &dictionary); break;
        case OCI_INT_RUNS: ok = ok && put_runs(&to, values, n); break;
        case OCI_INT_STEPS: ok = ok && put_steps(&to, values, n, &before, &dictionary); break;
        default: ok = ok && put_values(&to, values, n); break;
        }
        if (!ok) {
            return 0;
        }
    }
    if (find_constant(&to, &dictionary, &constant)) {
        return write_constant(constant, out);
    }
    if (oci_int_has_dictionary(choice.kind) && !put_distinct(&to, &dictionary)) {
        return 0;
    }
    return pad(out, to.at);
}

/* ---- vectors --------------------------------------------------------------------------------- */

int64_t oci_int_vector_bound(int64_t n, int width)
{
    int64_t n_pages = n / OCI_PAGE_VALUES + 1;
    return oci_round_up(OCI_INT_PLAIN_HEADER_MAX + n_pages * OCI_INT_PAGE_HEADER_MAX + n * width,
                        OCI_PACK_ALIGN);
}

/* Keeps a new choice, or gives up one that is no longer what it was. */
static void update_plan(oci_int_plan *plan, const oci_int_choice *choice, bool is_new, int64_t n,
                        int64_t size)
{
    int64_t bits = size * 8 * 16 / n;
    if (is_new) {
        *plan = (oci_int_plan){.kind = (uint8_t)choice->kind,
                               .blocks_left = PLAN_BLOCKS,
                               .bits = (uint16_t)bits,
                               .scale = choice->scale};
    } else if (bits > plan->bits + plan->bits / 4 + 4) {
        plan->blocks_left = 0;
    } else {
        plan->blocks_left--;
    }
}

int64_t oci_int_vector_encode(const oci_int_source *source, int width, oci_int_plan *plan,
                              uint8_t *out)
{
    if (source->n == 0) {
        return write_constant(0, out);
    }
    const int64_t limit = oci_int_vector_bound(source->n, width);
    oci_int_excluded excluded = {.scale = false};
    oci_int_choice choice;
    bool is_new = plan == NULL || plan->blocks_left == 0;
    if (is_new) {
        choice = oci_int_choose(source, &excluded);
    } else {
        choice = (oci_int_choice){.kind = (oci_int_kind)plan->kind, .scale = plan->scale};
    }
    int64_t size = encode_as(source, choice, out, limit);
    while (size == 0) {
        assert(choice.kind != OCI_INT_PAGES || choice.scale != 0);
        if (choice.scale != 0) {
            excluded.scale = true;
        } else {
            excluded.kinds[choice.kind] = true;
        }
        is_new = true;
        choice = oci_int_choose(source, &excluded);
        size = encode_as(source, choice, out, limit);
    }
    if (plan != NULL) {
        update_plan(plan, &choice, is_new, source->n, size);
    }
    return size;
}
