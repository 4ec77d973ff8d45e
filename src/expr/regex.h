/* Regular expressions, by PCRE2 with its own limits: a pattern that would take too long on a text is
 * an error, never a hang.
 *
 * Texts and patterns are UTF-8; invalid bytes match nothing. \d, \w and \s are ASCII. */
#ifndef OUTCORE_EXPR_REGEX_H
#define OUTCORE_EXPR_REGEX_H

#include "base/error.h"

typedef struct oci_regex oci_regex;     /* immutable: any thread */
typedef struct oci_matcher oci_matcher; /* what one thread matches with */

typedef enum oci_regex_flags {
    OCI_REGEX_IGNORE_CASE = 1,
    OCI_REGEX_LINES = 2,    /* ^ and $ at every line, . not at line ends */
    OCI_REGEX_EXTENDED = 4, /* blanks and comments in the pattern */
    OCI_REGEX_GLOBAL = 8    /* for replacing: all places */
} oci_regex_flags;

/* Flags by letters as in PostgreSQL: i c g n m s x. OC_EINVAL: another one. */
OC_NODISCARD oc_status oci_regex_flags_parse(const uint8_t *text, int64_t length, int *out,
                                             oc_error *err);

/* Memory comes from malloc: a compiled pattern is at most some 64 KiB. */
OC_NODISCARD oc_status oci_regex_compile(const uint8_t *pattern, int64_t length, int flags,
                                         oci_regex **out, oc_error *err);
void oci_regex_free(oci_regex *regex);

OC_NODISCARD oc_status oci_matcher_create(oci_matcher **out, oc_error *err);
void oci_matcher_free(oci_matcher *matcher);

/* Groups of a match beyond which none is kept. */
#define OCI_REGEX_GROUPS_MAX 100

/* Looks for a match from byte `start` on. *n_groups: 0 = none, else 1 + the groups that took part;
 * places[2 g] and [2 g + 1] are where group g starts and ends, -1 when it took no part.
 * `not_empty`: a match of no bytes at `start` does not count. */
OC_NODISCARD oc_status oci_regex_match(const oci_regex *regex, oci_matcher *matcher,
                                       const uint8_t *text, int64_t length, int64_t start,
                                       bool not_empty, int32_t *n_groups, int64_t *places,
                                       oc_error *err);

#endif /* OUTCORE_EXPR_REGEX_H */
