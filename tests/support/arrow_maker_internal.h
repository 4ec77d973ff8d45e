/* What the files of arrow_maker share: the tree that a column text stands for, and one array while
 * it is made. */
#ifndef OUTCORE_TESTS_SUPPORT_ARROW_MAKER_INTERNAL_H
#define OUTCORE_TESTS_SUPPORT_ARROW_MAKER_INTERNAL_H

#include "support/arrow_maker.h"

#define MAKER_TEXT_MAX     64
#define MAKER_VIEW_BUFFERS 3

/* ---- column texts ---------------------------------------------------------------------------- */

/* One type of the tree. A map has its entries struct as the only child, a run-end encoded type its
 * run ends and its values, as in the C data interface. */
typedef struct maker_node {
    char name[MAKER_TEXT_MAX];
    char format[MAKER_TEXT_MAX];    /* of the values when this is a dictionary */
    char indices[MAKER_TEXT_MAX];   /* empty unless a dictionary */
    char extension[MAKER_TEXT_MAX]; /* empty = none */
    bool not_null;
    bool keys_sorted;
    int32_t n_children;
    struct maker_node *children;
} maker_node;

/* The tree of column number `index`; freed by maker_free_node, which leaves the node itself. */
maker_node *maker_parse_column(const char *text, int32_t index);
void maker_free_column(maker_node *node);

/* ---- memory and dice ------------------------------------------------------------------------- */

/* Zeroed, never NULL. */
void *maker_take(size_t size);
/* Counts arrays, schemas and streams that are alive. */
void maker_count(int64_t change);
/* Every bit of each part changes every bit of the result. */
uint64_t maker_mix(uint64_t a, uint64_t b, uint64_t c);

/* ---- arrays ---------------------------------------------------------------------------------- */

/* What a made array owns. */
typedef struct made_array {
    const void *buffers[3 + MAKER_VIEW_BUFFERS];
    void
        *blocks[3 + MAKER_VIEW_BUFFERS]; /* to be freed; the buffers may point one byte into them */
    struct ArrowArray *children;
    struct ArrowArray **child_pointers;
    struct ArrowArray dictionary;
} made_array;

/* Rows of the imaginary table of one node of the tree, in the order in which an array has them. A
 * row is only a number; its value is a function of it and of the node's seed. */
typedef struct row_list {
    uint64_t *rows;
    int64_t n, capacity;
} row_list;

void maker_push_row(row_list *list, uint64_t row);

/* One array while it is made: slot s holds the value of row rows[s]. */
typedef struct column_work {
    const arrow_maker *maker;
    const maker_node *node;
    const char *format; /* of the node */
    uint64_t seed;      /* of the node */
    int32_t depth;
    int32_t distinct;
    bool by_id; /* values of a dictionary: the row is the id itself */
    int64_t slots;
    const uint64_t *rows;
    made_array *made;
} column_work;

made_array *maker_start_array(struct ArrowArray *out);
void maker_add_children(made_array *made, int64_t n, struct ArrowArray *out);
/* Buffer number `index`, zeroed. */
uint8_t *maker_add_buffer(const column_work *w, int index, int64_t size);
/* Little-endian, any width. */
void maker_put_int(uint8_t *out, int64_t value, int32_t width);
/* Which value a slot has: its own, or one of `distinct`. */
uint64_t maker_id_at(const column_work *w, int64_t slot);
uint64_t maker_hash_at(const column_work *w, int64_t slot);
uint64_t maker_garbage_at(const column_work *w, int64_t slot);
/* Null by a bitmap, if the node has one. */
bool maker_slot_is_null(const column_work *w, int64_t slot, bool indices);
/* Slots in front of what is referred to, in an array at this depth. */
int64_t maker_lead(const arrow_maker *maker, int32_t depth);

/* Makes the child `index` of a node; takes the list, which gets garbage in front of it. */
void maker_make_child(const column_work *parent, int32_t index, row_list *list,
                      struct ArrowArray *out);
/* Buffers (without validity) and children of a nested array; sets n_buffers and n_children. */
void maker_fill_nested(const column_work *w, struct ArrowArray *out);
bool maker_has_validity(const char *format);

#endif /* OUTCORE_TESTS_SUPPORT_ARROW_MAKER_INTERNAL_H */
