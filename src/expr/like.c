/* See like.h. Compiled patterns come from malloc: they grow with the statement. */
#include "expr/like.h"

#include <stdlib.h>
#include <string.h>

#include "expr/utf8_text.h"

/* Bytes between two %. Characters are compared bytewise, but for those that may be anything. */
typedef struct piece {
    int32_t start; /* in bytes and any */
    int32_t length;
    bool has_any; /* a byte in `any` is set */
} piece;

struct oci_like {
    uint8_t *bytes; /* of the pieces, without escapes */
    uint8_t *any;   /* 1 = the byte stands for a whole character */
    piece *pieces;
    int32_t n_pieces; /* one more than there are runs of % */
};

void oci_like_free(oci_like *like)
{
    if (like != NULL) {
        free(like->bytes);
        free(like->any);
        free(like->pieces);
        free(like);
    }
}

static void end_piece(oci_like *like, int32_t start, int32_t end)
{
    piece *p = &like->pieces[like->n_pieces++];
    *p = (piece){.start = start, .length = end - start};
    p->has_any = p->length > 0 && memchr(like->any + start, 1, (size_t)p->length) != NULL;
}

/* false: the pattern ends with its escape. */
static bool cut(oci_like *like, const uint8_t *pattern, int64_t length, const uint8_t *escape,
                int64_t escape_length)
{
    int32_t used = 0;
    int32_t start = 0;
    for (int64_t i = 0; i < length;) {
        bool escaped = escape_length > 0 && length - i >= escape_length &&
                       memcmp(pattern + i, escape, (size_t)escape_length) == 0;
        if (escaped) {
            i += escape_length;
            if (i >= length) {
                return false;
            }
        }
        if (pattern[i] == '%' && !escaped) {
            /* Runs of % are one. */
            if (like->n_pieces == 0 || used > start) {
                end_piece(like, start, used);
                start = used;
            }
            i++;
            continue;
        }
        int64_t size = oci_character_bytes(pattern + i, length - i);
        bool is_any = pattern[i] == '_' && !escaped;
        for (int64_t k = 0; k < size; k++) {
            like->any[used] = is_any;
            like->bytes[used++] = pattern[i + k];
        }
        i += size;
    }
    end_piece(like, start, used);
    return true;
}

oc_status oci_like_compile(const uint8_t *pattern, int64_t length, const uint8_t *escape,
                           int64_t escape_length, oci_like **out, oc_error *err)
{
    if (escape_length > 0 && oci_character_bytes(escape, escape_length) != escape_length) {
        OC_FAIL(err, OC_EINVAL, "the escape of LIKE must be one character or empty");
    }
    if (length > INT32_MAX / 2) {
        OC_FAIL(err, OC_EINVAL, "a pattern of LIKE with %" PRId64 " bytes is too long", length);
    }
    size_t room = (size_t)length + 1;
    oci_like *like = calloc(1, sizeof *like);
    if (like != NULL) {
        like->bytes = malloc(room);
        like->any = malloc(room);
        like->pieces = calloc(room + 1, sizeof *like->pieces);
    }
    if (like == NULL || like->bytes == NULL || like->any == NULL || like->pieces == NULL) {
        oci_like_free(like);
        OC_FAIL(err, OC_ENOMEM, "could not compile a pattern of LIKE: out of memory");
    }
    if (!cut(like, pattern, length, escape, escape_length)) {
        oci_like_free(like);
        OC_FAIL(err, OC_EINVAL,
                "a pattern of LIKE ends with its escape character; write it twice to mean itself");
    }
    *out = like;
    return OC_OK;
}

/* Where the text goes on behind a piece that begins at `at`, or NULL. */
static const uint8_t *match_here(const oci_like *like, const piece *p, const uint8_t *at,
                                 const uint8_t *end)
{
    const uint8_t *bytes = like->bytes + p->start;
    const uint8_t *any = like->any + p->start;
    if (!p->has_any) {
        bool same = end - at >= p->length &&
                    (p->length == 0 || memcmp(at, bytes, (size_t)p->length) == 0);
        return same ? at + p->length : NULL;
    }
    for (int32_t i = 0; i < p->length; i++) {
        if (at >= end) {
            return NULL;
        }
        if (any[i]) {
            at += oci_character_bytes(at, end - at);
        } else if (*at++ != bytes[i]) {
            return NULL;
        }
    }
    return at;
}

/* Where the text goes on behind the first place of a piece, or NULL. */
static const uint8_t *find_piece(const oci_like *like, const piece *p, const uint8_t *at,
                                 const uint8_t *end)
{
    if (!p->has_any) {
        if (p->length == 0) {
            return at;
        }
        const uint8_t *found =
            memmem(at, (size_t)(end - at), like->bytes + p->start, (size_t)p->length);
        return found == NULL ? NULL : found + p->length;
    }
    for (;; at += oci_character_bytes(at, end - at)) {
        const uint8_t *behind = match_here(like, p, at, end);
        if (behind != NULL || at >= end) {
            return behind;
        }
    }
}

/* Where the last piece must begin so that it ends with the text; NULL: the text is too short. */
static const uint8_t *start_of_last(const oci_like *like, const piece *p, const uint8_t *at,
                                    const uint8_t *end)
{
    if (!p->has_any) {
        return end - at >= p->length ? end - p->length : NULL;
    }
    const uint8_t *start = end;
    for (int32_t i = p->length - 1; i >= 0; i--) {
        if (start <= at) {
            return NULL;
        }
        start = like->any[p->start + i] ? oci_previous_character(at, start) : start - 1;
    }
    return start;
}

bool oci_like_match(const oci_like *like, const uint8_t *text, int64_t length)
{
    const uint8_t *at = text;
    const uint8_t *end = text + length;
    const piece *last = &like->pieces[like->n_pieces - 1];
    if (like->n_pieces == 1) {
        return match_here(like, last, at, end) == end;
    }
    at = match_here(like, &like->pieces[0], at, end);
    for (int32_t i = 1; at != NULL && i < like->n_pieces - 1; i++) {
        at = find_piece(like, &like->pieces[i], at, end);
    }
    if (at == NULL || last->length == 0) {
        return at != NULL;
    }
    at = start_of_last(like, last, at, end);
    return at != NULL && match_here(like, last, at, end) == end;
}
