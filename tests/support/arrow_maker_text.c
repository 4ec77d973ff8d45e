/* Column texts of arrow_maker.h: reading them into trees, schemas of them, lists of them, and
 * random ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/arrow_maker_internal.h"

const char *const arrow_maker_formats[] = {
    "n",         "b",       "c",           "C",        "s",    "S",       "i",
    "I",         "l",       "L",           "e",        "f",    "g",       "d:9,2,32",
    "d:18,4,64", "d:38,10", "d:76,20,256", "z",        "Z",    "vz",      "u",
    "U",         "vu",      "w:1",         "w:7",      "w:33", "tdD",     "tdm",
    "tts",       "ttm",     "ttu",         "ttn",      "tss:", "tsm:UTC", "tsu:Europe/Berlin",
    "tsn:",      "tDs",     "tDm",         "tDu",      "tDn",  "tiM",     "tiD",
    "tin",       "c>u",     "C>z",         "s>l",      "S>vu", "i>U",     "I>g",
    "l>b",       "L>w:3",   "i>vz",        "c>d:15,2", "i>n",
};
const int32_t arrow_maker_n_formats =
    (int32_t)(sizeof arrow_maker_formats / sizeof arrow_maker_formats[0]);

const char *const arrow_maker_nested_formats[] = {
    "+l(i)",
    "+l(u)",
    "+l(b)",
    "+l(n)",
    "+l(vu)",
    "+L(l)",
    "+L(Z)",
    "+vl(i)",
    "+vl(b)",
    "+vL(u)",
    "+w:3(i)",
    "+w:1(b)",
    "+w:5(u)",
    "+w:0(i)",
    "+s(a=i; b=u)",
    "+s(a=b; b=vu; c=d:15,2)",
    "+s()",
    "+m(u; i)",
    "+m:sorted(i; vz)",
    "+ud:0,1(i; u)",
    "+ud:9,2,5(l; b; +s(a=i))",
    "+us:0,1(i; u)",
    "+us:4,120(b; n)",
    "+r(i; u)",
    "+r(l; b)",
    "+r(s; g)",
    "+r(i; n)",
    "+l(+l(i))",
    "+l(+L(+l(u)))",
    "+vl(+vL(vu))",
    "+w:2(+w:2(b))",
    "+w:2(+l(i))",
    "+l(+w:3(w:3))",
    "+s(a=+s(b=+l(i); c=b); d=c>u)",
    "+s(a=+r(i; u); b=+vl(c))",
    "+l(+s(a=i; b=+ud:1,7(u; +l(b))))",
    "+l(+us:3,4(i; vu))",
    "+m(u; +m(i; +l(u)))",
    "+m(+s(a=i; b=u); n)",
    "+ud:0,1(+ud:2,3(i; b); +us:0,3(u; +r(i; i)))",
    "+us:1,0(+l(i); +s(a=u))",
    "+r(i; +l(i))",
    "+r(l; +s(a=i; b=+r(i; u)))",
    "+r(i; +r(i; i))",
    "+l(+r(i; vu))",
    "c>+l(i)",
    "s>+s(a=i; b=u)",
    "i>+vl(+r(i; u))",
    "C>+us:0,1(i; u)",
    "l>+m(u; +w:2(i))",
    "+l(c>u)",
    "+l(c>+l(s>u))",
    "+s(a=c>vu; b=i>+l(L>z))",
    "+ud:0,1(c>u; n)",
    "+r(i; C>u)",
    "+l@test.points(+s@test.point(x=g; y=g@test.metres))",
    "c>u@test.word",
};
const int32_t arrow_maker_n_nested_formats =
    (int32_t)(sizeof arrow_maker_nested_formats / sizeof arrow_maker_nested_formats[0]);

/* ---- texts to trees -------------------------------------------------------------------------- */

/* Moves *text behind the longest run of other characters than those of `ends`, and copies it. */
static void read_word(const char **text, const char *ends, char *out)
{
    size_t length = strcspn(*text, ends);
    snprintf(out, MAKER_TEXT_MAX, "%.*s", (int)length, *text);
    *text += length;
}

static void read_node(const char **text, maker_node *out);

static void add_child(maker_node *parent, const maker_node *child)
{
    size_t n = (size_t)parent->n_children;
    maker_node *grown = maker_take((n + 1) * sizeof *grown);
    if (n > 0) {
        memcpy(grown, parent->children, n * sizeof *grown);
    }
    grown[n] = *child;
    free(parent->children);
    parent->children = grown;
    parent->n_children++;
}

/* The names that Arrow's documents use for children that have no name of their own. */
static void name_child(const maker_node *parent, int32_t i, maker_node *child)
{
    if (child->name[0] != 0) {
        return;
    }
    if (strcmp(parent->format, "+m") == 0) {
        snprintf(child->name, sizeof child->name, "%s", i == 0 ? "key" : "value");
    } else if (strcmp(parent->format, "+r") == 0) {
        snprintf(child->name, sizeof child->name, "%s", i == 0 ? "run_ends" : "values");
    } else if (parent->format[1] == 's' || parent->format[1] == 'u') {
        snprintf(child->name, sizeof child->name, "f%d", (int)i);
    } else {
        snprintf(child->name, sizeof child->name, "item");
    }
}

static void read_children(const char **text, maker_node *out)
{
    for ((*text)++; **text != ')' && **text != 0;) {
        maker_node child = {0};
        read_node(text, &child);
        name_child(out, out->n_children, &child);
        add_child(out, &child);
        *text += strspn(*text, "; ");
    }
    *text += **text == ')';
}

/* "+m(key; value)" is a list of a struct of both. */
static void put_entries_between(maker_node *map)
{
    maker_node entries = {.name = "entries", .format = "+s", .not_null = true};
    entries.n_children = map->n_children;
    entries.children = map->children;
    entries.children[0].not_null = true;
    map->n_children = 0;
    map->children = NULL;
    add_child(map, &entries);
}

static void read_node(const char **text, maker_node *out)
{
    char word[MAKER_TEXT_MAX];
    read_word(text, "=>@(;)", word);
    if (**text == '=') {
        snprintf(out->name, sizeof out->name, "%s", word);
        (*text)++;
        read_word(text, ">@(;)", word);
    }
    if (**text == '>') {
        snprintf(out->indices, sizeof out->indices, "%s", word);
        (*text)++;
        read_word(text, "@(;)", word);
    }
    out->keys_sorted = strcmp(word, "+m:sorted") == 0;
    snprintf(out->format, sizeof out->format, "%s", out->keys_sorted ? "+m" : word);
    if (**text == '@') {
        (*text)++;
        read_word(text, "(;)", out->extension);
    }
    if (**text == '(') {
        read_children(text, out);
    }
    if (strcmp(out->format, "+m") == 0 && out->n_children == 2) {
        put_entries_between(out);
    } else if (strcmp(out->format, "+r") == 0 && out->n_children == 2) {
        out->children[0].not_null = true;
    }
}

maker_node *maker_parse_column(const char *text, int32_t index)
{
    maker_node *node = maker_take(sizeof *node);
    /* A column's name may hold any character but '=' and '('. */
    size_t name_bytes = strcspn(text, "=(");
    char name[MAKER_TEXT_MAX];
    snprintf(name, sizeof name, "c%d", (int)index);
    if (text[name_bytes] == '=') {
        snprintf(name, sizeof name, "%.*s", (int)name_bytes, text);
        text += name_bytes + 1;
    }
    read_node(&text, node);
    if (*text != 0) {
        fprintf(stderr, "arrow_maker: \"%s\" is left over of a column text\n", text);
        abort();
    }
    snprintf(node->name, sizeof node->name, "%s", name);
    return node;
}

static void free_children(maker_node *node)
{
    for (int32_t i = 0; i < node->n_children; i++) {
        free_children(&node->children[i]);
    }
    free(node->children);
}

void maker_free_column(maker_node *node)
{
    free_children(node);
    free(node);
}

/* ---- schemas --------------------------------------------------------------------------------- */

typedef struct made_schema {
    char name[MAKER_TEXT_MAX];
    char format[MAKER_TEXT_MAX];
    char metadata[2 * MAKER_TEXT_MAX];
    struct ArrowSchema *children;
    struct ArrowSchema **child_pointers;
    struct ArrowSchema dictionary;
} made_schema;

static void release_schema(struct ArrowSchema *schema)
{
    made_schema *made = schema->private_data;
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (schema->children[i]->release != NULL) {
            schema->children[i]->release(schema->children[i]);
        }
    }
    if (schema->dictionary != NULL && schema->dictionary->release != NULL) {
        schema->dictionary->release(schema->dictionary);
    }
    free(made->children);
    free(made->child_pointers);
    free(made);
    schema->release = NULL;
    schema->private_data = NULL;
    maker_count(-1);
}

static made_schema *start_schema(struct ArrowSchema *out, const char *name, const char *format,
                                 int64_t n_children)
{
    made_schema *made = maker_take(sizeof *made);
    snprintf(made->name, sizeof made->name, "%s", name);
    snprintf(made->format, sizeof made->format, "%s", format);
    made->children = maker_take((size_t)n_children * sizeof *made->children);
    made->child_pointers = maker_take((size_t)n_children * sizeof *made->child_pointers);
    for (int64_t i = 0; i < n_children; i++) {
        made->child_pointers[i] = &made->children[i];
    }
    *out = (struct ArrowSchema){.format = made->format,
                                .name = made->name,
                                .flags = ARROW_FLAG_NULLABLE,
                                .n_children = n_children,
                                .children = n_children > 0 ? made->child_pointers : NULL,
                                .release = release_schema,
                                .private_data = made};
    maker_count(1);
    return made;
}

/* One pair: int32 count, then int32 size and bytes of key and value. */
static void put_extension(made_schema *made, const char *extension, struct ArrowSchema *out)
{
    static const char key[] = "ARROW:extension:name";
    int32_t count = 1, key_bytes = (int32_t)sizeof key - 1,
            value_bytes = (int32_t)strlen(extension);
    char *at = made->metadata;
    if (value_bytes == 0) {
        return;
    }
    memcpy(at, &count, 4);
    memcpy(at + 4, &key_bytes, 4);
    memcpy(at + 8, key, (size_t)key_bytes);
    memcpy(at + 8 + key_bytes, &value_bytes, 4);
    memcpy(at + 12 + key_bytes, extension, (size_t)value_bytes);
    out->metadata = made->metadata;
}

/* `dictionary`: the node is one, and this is the schema of its values. */
static void make_schema(const maker_node *node, bool values, struct ArrowSchema *out)
{
    bool dictionary = node->indices[0] != 0 && !values;
    const char *name = values ? "values" : node->name;
    made_schema *made = start_schema(out, name, dictionary ? node->indices : node->format,
                                     dictionary ? 0 : node->n_children);
    out->flags = (node->not_null && !values ? 0 : ARROW_FLAG_NULLABLE) |
                 (node->keys_sorted && !dictionary ? ARROW_FLAG_MAP_KEYS_SORTED : 0);
    if (!values) {
        put_extension(made, node->extension, out);
    }
    if (dictionary) {
        make_schema(node, true, &made->dictionary);
        out->dictionary = &made->dictionary;
        return;
    }
    for (int32_t i = 0; i < node->n_children; i++) {
        make_schema(&node->children[i], false, &made->children[i]);
    }
}

void arrow_make_schema(const char *const *columns, int32_t n_columns, struct ArrowSchema *out)
{
    made_schema *made = start_schema(out, "", "+s", n_columns);
    for (int32_t i = 0; i < n_columns; i++) {
        maker_node *node = maker_parse_column(columns[i], i);
        make_schema(node, false, &made->children[i]);
        maker_free_column(node);
    }
    out->flags = 0;
}

/* ---- random texts ---------------------------------------------------------------------------- */

typedef struct text_dice {
    char *out;
    size_t size, at;
    uint64_t state;
} text_dice;

static uint64_t roll(text_dice *dice, uint64_t sides)
{
    dice->state = maker_mix(dice->state, 31, sides);
    return dice->state % sides;
}

static void write_text(text_dice *dice, const char *text)
{
    int n = snprintf(dice->out + dice->at, dice->size - dice->at, "%s", text);
    if (n < 0 || (size_t)n >= dice->size - dice->at) {
        fputs("arrow_maker: a random column text does not fit\n", stderr);
        abort();
    }
    dice->at += (size_t)n;
}

static void write_leaf(text_dice *dice)
{
    static const char *const plain[] = {"n",       "b",   "c",  "i", "l",      "g",         "u",
                                        "z",       "U",   "vu", "Z", "d:15,2", "vz",        "w:3",
                                        "tsu:UTC", "tin", "e",  "s", "L",      "d:40,1,256"};
    write_text(dice, plain[roll(dice, sizeof plain / sizeof plain[0])]);
}

static void write_node(text_dice *dice, int32_t depth);

static void write_children(text_dice *dice, const char *head, uint64_t n, int32_t depth)
{
    write_text(dice, head);
    for (uint64_t i = 0; i < n; i++) {
        write_text(dice, i > 0 ? "; " : "");
        write_node(dice, depth - 1);
    }
    write_text(dice, ")");
}

/* Keys of maps hold no nulls, also none of a null type. */
static void write_map(text_dice *dice, const char *head, int32_t depth)
{
    static const char *const keys[] = {"u; ", "i; ", "vz; ", "c>u; ", "+w:2(i); ", "+s(l; u); "};
    write_text(dice, head);
    write_children(dice, keys[roll(dice, sizeof keys / sizeof keys[0])], 1, depth);
}

static void write_union(text_dice *dice, int32_t depth)
{
    static const char *const heads[] = {":7(", ":0,1(", ":9,3(", ":0,1,2(", ":127,0,64,1("};
    static const uint64_t counts[] = {1, 2, 2, 3, 4};
    uint64_t which = roll(dice, 5);
    write_text(dice, roll(dice, 2) ? "+ud" : "+us");
    write_children(dice, heads[which], counts[which], depth);
}

static void write_node(text_dice *dice, int32_t depth)
{
    static const char *const indices[] = {"c>", "S>", "i>", "L>"};
    bool dictionary = roll(dice, 6) == 0;
    write_text(dice, dictionary ? indices[roll(dice, 4)] : "");
    uint64_t kind = depth > 0 ? roll(dice, 14) : 13;
    switch (kind) {
    case 0: write_children(dice, "+l(", 1, depth); break;
    case 1: write_children(dice, "+L(", 1, depth); break;
    case 2: write_children(dice, "+vl(", 1, depth); break;
    case 3: write_children(dice, "+vL(", 1, depth); break;
    case 4: write_children(dice, roll(dice, 2) ? "+w:2(" : "+w:3(", 1, depth); break;
    case 5: write_map(dice, "+m(", depth); break;
    case 6: write_map(dice, "+m:sorted(", depth); break;
    case 7:
    case 8: write_children(dice, "+s(", roll(dice, 4), depth); break;
    case 9:
    case 10: write_union(dice, depth); break;
    case 11:
        write_text(dice, roll(dice, 2) ? "+r(i; " : "+r(l; ");
        write_children(dice, "", 1, depth);
        break;
    default: write_leaf(dice); break;
    }
}

void arrow_make_column_text(uint64_t seed, int32_t depth, char *out, size_t size)
{
    text_dice dice = {.out = out, .size = size, .state = seed};
    write_node(&dice, depth);
}
