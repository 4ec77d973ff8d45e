/* Which codec and level to compress spilled blocks with, chosen while they are written.
 *
 * A block of L logical bytes costs, with codec c: L / encode speed + ratio * L * (1 / write speed + 1
 * / read speed) + L / decode speed. All five are measured as blocks go by (exponential averages);
 * the cheapest codec is used, and now and then a neighbour of it is tried, so that the estimates stay
 * fresh. Slow disk: more compression. Fast disk: less or none. The idea of weighing CPU against I/O
 * with measured speeds: Kuschewski, Giceva, Neumann, Leis, "High-Performance Query Processing with
 * NVMe Arrays: Spilling without Killing Performance" (Umami), SIGMOD 2024.
 *
 * One per manager: what one run learned serves the next. Thread-safe. Only where bytes end up
 * depends on it, never the rows. */
#ifndef OUTCORE_SPILL_CODEC_CHOICE_H
#define OUTCORE_SPILL_CODEC_CHOICE_H

#include "codec/codec.h"

typedef struct oci_codec_choice oci_codec_choice;

typedef struct oci_codec_setting {
    oci_codec_id id;
    int level;
} oci_codec_setting;

OC_NODISCARD oc_status oci_codec_choice_create(oci_codec_choice **out, oc_error *err);
void oci_codec_choice_destroy(oci_codec_choice *choice); /* NULL is fine */

/* For the next block. */
oci_codec_setting oci_codec_choice_next(oci_codec_choice *choice);

/* What a block took: bytes before the codec, bytes after it, and nanoseconds. */
void oci_codec_choice_note_encode(oci_codec_choice *choice, oci_codec_setting setting,
                                  int64_t bytes_in, int64_t bytes_out, int64_t ns);
void oci_codec_choice_note_write(oci_codec_choice *choice, int64_t bytes, int64_t ns);
void oci_codec_choice_note_read(oci_codec_choice *choice, int64_t bytes, int64_t ns);
void oci_codec_choice_note_decode(oci_codec_choice *choice, oci_codec_id id, int64_t bytes_out,
                                  int64_t ns);

#endif /* OUTCORE_SPILL_CODEC_CHOICE_H */
