/* Which codec and level to compress spilled blocks with, chosen while they are written.
 *
 * What a byte costs with codec c, in nanoseconds, all of them measured as blocks go by:
 *
 *   cost(c) = encode(c) + ratio(c) * (write + read) + decode(c)
 *
 * It is a sum because one helper thread does all four, one after the other. Time of a write is what
 * the call took: that of the disk, or of memory for the page cache; what counts is how long somebody
 * waits. The cheapest codec is used. Slow disk: more compression. Fast disk, or data that does not
 * compress: none. Weighing processor time against I/O by measured speeds is an idea of Kuschewski,
 * Giceva, Neumann, Leis, "High-Performance Query Processing with NVMe Arrays: Spilling without Killing
 * Performance" (Umami), SIGMOD 2024.
 *
 * The others are tried now and then, so that nothing is missed when data or disk change; what that
 * costs is counted, and bounded by a share of everything.
 *
 * One per manager: what one run learned serves the next. Thread-safe. Only what files look like depends
 * on it, never the rows. */
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

/* What a block took: bytes before the codec, bytes after it, and nanoseconds. Settings that next()
 * never gives are passed over. */
void oci_codec_choice_note_encode(oci_codec_choice *choice, oci_codec_setting setting,
                                  int64_t bytes_in, int64_t bytes_out, int64_t ns);
void oci_codec_choice_note_write(oci_codec_choice *choice, int64_t bytes, int64_t ns);
void oci_codec_choice_note_read(oci_codec_choice *choice, int64_t bytes, int64_t ns);
void oci_codec_choice_note_decode(oci_codec_choice *choice, oci_codec_id id, int64_t bytes_out,
                                  int64_t ns);

#endif /* OUTCORE_SPILL_CODEC_CHOICE_H */
