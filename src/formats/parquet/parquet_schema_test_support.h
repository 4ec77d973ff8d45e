/* For tests: metadata from a schema as text, in the notation of the format's documents:
 *
 *   "optional group tags (LIST) { repeated group list { optional binary element (STRING); } }"
 *
 * Types: group boolean int32 int64 int96 float double binary fixed(n). Annotations: LIST MAP MAP_KEY_VALUE STRING
 * UTF8 ENUM JSON BSON DATE UUID FLOAT16 UNKNOWN INTERVAL INT(8,s) INT(8,u) DECIMAL(p,s) TIME(unit)
 * TIMESTAMP(unit,utc) TIMESTAMP(unit,local), in front of them OLD_ for the converted type alone. */
#ifndef OUTCORE_FORMATS_PARQUET_PARQUET_SCHEMA_TEST_SUPPORT_H
#define OUTCORE_FORMATS_PARQUET_PARQUET_SCHEMA_TEST_SUPPORT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/parquet/metadata.h"

enum { TEXT_ELEMENTS_MAX = 600 };

typedef struct text_schema {
    oci_parquet_metadata metadata;
    oci_parquet_element elements[TEXT_ELEMENTS_MAX];
    const oci_parquet_element *leaves[TEXT_ELEMENTS_MAX];
    char words[TEXT_ELEMENTS_MAX][40];
    const char *at;
} text_schema;

static inline void text_fail(const text_schema *s)
{
    fprintf(stderr, "schema text goes wrong at \"%s\"\n", s->at);
    abort();
}

static inline bool text_take(text_schema *s, const char *word)
{
    size_t n = strlen(word);
    s->at += strspn(s->at, " ");
    if (strncmp(s->at, word, n) != 0) {
        return false;
    }
    s->at += n;
    return true;
}

static inline int32_t text_number(text_schema *s)
{
    char *end;
    long value = strtol(s->at, &end, 10);
    s->at = end;
    return (int32_t)value;
}

static inline int8_t text_unit(text_schema *s)
{
    return (int8_t)(text_take(s, "ms") ? 1 : text_take(s, "us") ? 2 : text_take(s, "ns") ? 3 : 0);
}

static inline void text_type(text_schema *s, oci_parquet_element *e)
{
    static const char *const names[] = {"boolean", "int32",  "int64",  "int96",
                                        "float",   "double", "binary", "fixed("};
    if (text_take(s, "group")) {
        return;
    }
    for (int i = 0; i < 8; i++) {
        if (text_take(s, names[i])) {
            e->type = (oci_parquet_type)i;
            if (i == OCI_PARQUET_FIXED) {
                e->type_length = text_number(s);
                (void)text_take(s, ")");
            }
            return;
        }
    }
    text_fail(s);
}

/* The annotation; its name is followed by its parameters. */
static inline void text_annotation(text_schema *s, oci_parquet_element *e)
{
    static const struct {
        const char *name;
        oci_parquet_logical logical;
        int converted;
    } names[] = {{"LIST", OCI_PARQUET_LOGICAL_LIST, 3},
                 {"MAP_KEY_VALUE", OCI_PARQUET_LOGICAL_NONE, 2},
                 {"MAP", OCI_PARQUET_LOGICAL_MAP, 1},
                 {"STRING", OCI_PARQUET_LOGICAL_STRING, 0},
                 {"UTF8", OCI_PARQUET_LOGICAL_NONE, 0},
                 {"ENUM", OCI_PARQUET_LOGICAL_ENUM, 4},
                 {"JSON", OCI_PARQUET_LOGICAL_JSON, 19},
                 {"BSON", OCI_PARQUET_LOGICAL_BSON, 20},
                 {"DATE", OCI_PARQUET_LOGICAL_DATE, 6},
                 {"UUID", OCI_PARQUET_LOGICAL_UUID, -1},
                 {"FLOAT16", OCI_PARQUET_LOGICAL_FLOAT16, -1},
                 {"UNKNOWN", OCI_PARQUET_LOGICAL_UNKNOWN, -1},
                 {"OTHER", OCI_PARQUET_LOGICAL_OTHER, -1},
                 {"INTERVAL", OCI_PARQUET_LOGICAL_NONE, 21},
                 {"INT(", OCI_PARQUET_LOGICAL_INTEGER, -1},
                 {"DECIMAL(", OCI_PARQUET_LOGICAL_DECIMAL, 5},
                 {"TIMESTAMP(", OCI_PARQUET_LOGICAL_TIMESTAMP, 8},
                 {"TIME(", OCI_PARQUET_LOGICAL_TIME, 6}};
    bool is_old = text_take(s, "OLD_");
    size_t i = 0;
    while (i < sizeof names / sizeof names[0] && !text_take(s, names[i].name)) {
        i++;
    }
    if (i == sizeof names / sizeof names[0]) {
        text_fail(s);
    }
    e->logical = is_old ? OCI_PARQUET_LOGICAL_NONE : names[i].logical;
    int converted = names[i].converted;
    if (names[i].logical == OCI_PARQUET_LOGICAL_INTEGER) {
        e->bit_width = (int8_t)text_number(s);
        e->is_signed = text_take(s, ",s");
        (void)text_take(s, ",u");
        converted = (e->is_signed ? 15 : 11) + __builtin_ctz((unsigned)e->bit_width) - 3;
    } else if (names[i].logical == OCI_PARQUET_LOGICAL_DECIMAL) {
        e->precision = text_number(s);
        (void)text_take(s, ",");
        e->scale = text_number(s);
    } else if (names[i].logical == OCI_PARQUET_LOGICAL_TIME ||
               names[i].logical == OCI_PARQUET_LOGICAL_TIMESTAMP) {
        e->unit = text_unit(s);
        e->is_utc = text_take(s, ",utc");
        (void)text_take(s, ",local");
        converted += e->unit;
    }
    if (names[i].name[strlen(names[i].name) - 1] == '(' && !text_take(s, ")")) {
        text_fail(s);
    }
    e->converted = is_old || e->logical == OCI_PARQUET_LOGICAL_NONE
                       ? (oci_parquet_converted)converted
                       : OCI_PARQUET_CONVERTED_NONE;
}

static inline void text_fields(text_schema *s, oci_parquet_element *parent);

static inline void text_field(text_schema *s)
{
    oci_parquet_metadata *m = &s->metadata;
    char *name = s->words[m->n_elements];
    oci_parquet_element *e = &s->elements[m->n_elements++];
    *e = (oci_parquet_element){.type = OCI_PARQUET_GROUP, .converted = OCI_PARQUET_CONVERTED_NONE};
    if (text_take(s, "optional")) {
        e->repetition = OCI_PARQUET_OPTIONAL;
    } else if (text_take(s, "repeated")) {
        e->repetition = OCI_PARQUET_REPEATED;
    } else if (!text_take(s, "required")) {
        text_fail(s);
    }
    text_type(s, e);
    s->at += strspn(s->at, " ");
    size_t n = strcspn(s->at, " ;{");
    memcpy(name, s->at, n < 39 ? n : 39);
    s->at += n;
    e->name = (oci_parquet_bytes){(const uint8_t *)name, (int64_t)strlen(name)};
    if (text_take(s, "(")) {
        text_annotation(s, e);
        (void)text_take(s, ")");
    }
    if (e->type == OCI_PARQUET_GROUP) {
        if (!text_take(s, "{")) {
            text_fail(s);
        }
        text_fields(s, e);
    } else {
        (void)text_take(s, ";");
        m->leaves[m->n_leaves++] = e;
    }
}

static inline void text_fields(text_schema *s, oci_parquet_element *parent)
{
    while (!text_take(s, "}") && *s->at != '\0') {
        text_field(s);
        parent->n_children++;
    }
}

/* Of the fields in `text`; stays where it is. */
static inline const oci_parquet_metadata *parse_text_schema(text_schema *s, const char *text)
{
    memset(s, 0, sizeof *s);
    s->at = text;
    s->metadata.elements = s->elements;
    s->metadata.leaves = s->leaves;
    s->metadata.n_elements = 1;
    s->metadata.file_name = "test";
    s->elements[0] = (oci_parquet_element){.type = OCI_PARQUET_GROUP,
                                           .name = {(const uint8_t *)"schema", 6},
                                           .converted = OCI_PARQUET_CONVERTED_NONE};
    text_fields(s, &s->elements[0]);
    return &s->metadata;
}

#endif /* OUTCORE_FORMATS_PARQUET_PARQUET_SCHEMA_TEST_SUPPORT_H */
