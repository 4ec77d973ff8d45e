/* Patterns of LIKE: % any text, _ any character, and an escape character.
 *
 * A pattern is cut at its %: the first piece stands at the start of the text, the last at its end,
 * and those in between are looked for from left to right, each at its first place. That never has
 * to go back, so the time is at most length of text x length of pattern. */
#ifndef OUTCORE_EXPR_LIKE_H
#define OUTCORE_EXPR_LIKE_H

#include "base/error.h"

typedef struct oci_like oci_like;

/* `escape` is one character's bytes, empty = none. A malloc'ed pattern, as it grows with the
 * statement only. OC_EINVAL: the escape stands at the end of the pattern, or is no single character. */
OC_NODISCARD oc_status oci_like_compile(const uint8_t *pattern, int64_t length,
                                        const uint8_t *escape, int64_t escape_length,
                                        oci_like **out, oc_error *err);
void oci_like_free(oci_like *like);
bool oci_like_match(const oci_like *like, const uint8_t *text, int64_t length);

#endif /* OUTCORE_EXPR_LIKE_H */
