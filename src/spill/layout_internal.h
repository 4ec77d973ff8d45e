/* What the files of spill/layout share: one column on its way to its physical form and back. */
#ifndef OUTCORE_SPILL_LAYOUT_INTERNAL_H
#define OUTCORE_SPILL_LAYOUT_INTERNAL_H

#include "spill/layout.h"

struct oci_spill_layout {
    oci_schema *logical;
    oci_schema *physical;
    oci_column_layout *choices; /* malloc'ed, one per column */
    bool is_plain;
};

/* Column structs below a physical column: lengths, bytes, run ends, values; or run ends, values,
 * packed, bytes. */
#define OCI_LAYOUT_BELOW 4
/* Whatever a layout makes lies at multiples of this. */
#define OCI_LAYOUT_ALIGN 8

/* Where a physical batch is made. */
typedef struct oci_layout_out {
    uint8_t *slab;
    int64_t at; /* a multiple of OCI_LAYOUT_ALIGN */
    int64_t size;
    oci_column *below; /* the next free struct */
} oci_layout_out;

/* ---- LENGTHS (layout_lengths.c) -------------------------------------------------------------- */

/* Slab that the physical form of a column takes. OC_EDATA: offsets that do not ascend. */
OC_NODISCARD oc_status oci_lengths_measure(const oci_column *column, int64_t *bytes, oc_error *err);
/* `field` is the physical one. Cannot fail after measuring. */
void oci_lengths_encode(const oci_column *column, const oci_field *field, oci_layout_out *out,
                        oci_column *physical);
/* Slab that the logical form of a physical column takes. Checks what can be checked without looking
 * at lengths. */
OC_NODISCARD oc_status oci_lengths_unmeasure(const oci_column *physical, int64_t *bytes,
                                             oc_error *err);
/* `field` is the logical one. */
OC_NODISCARD oc_status oci_lengths_decode(const oci_column *physical, const oci_field *field,
                                          oci_unpack_out *out, oci_column *column, oc_error *err);

/* ---- PACKED (layout_packed.c) ---------------------------------------------------------------- */

/* Whether packing uses the stream of string bytes. */
bool oci_packed_has_bytes(const oci_field *logical);
int64_t oci_packed_slab_bound(const oci_packed_bound *bound);
OC_NODISCARD oc_status oci_packed_encode(oci_packer *packer, int32_t i, const oci_column *column,
                                         const oci_field *field, oci_reservation *from,
                                         oci_layout_out *out, oci_column *physical, oc_error *err);
/* The two streams of a physical column. OC_EDATA: it is not one run of one value. */
OC_NODISCARD oc_status oci_packed_open(const oci_column *physical, oci_pack_in *in, oc_error *err);

/* ---- both ------------------------------------------------------------------------------------ */

/* Takes `bytes` of the slab. */
uint8_t *oci_layout_take(oci_layout_out *out, int64_t bytes);
/* Makes a run-end encoded column of one run over all rows (none when there are none) of `value`,
 * which has one row. Takes the next two structs below, which are its children. */
void oci_layout_make_run(const oci_field *field, int64_t rows, const oci_column *value,
                         oci_layout_out *out, oci_column *run);
/* A binary column of one value (none when there are no rows). */
oci_column oci_layout_binary(const oci_field *field, int64_t rows, const uint8_t *bytes,
                             int64_t size, oci_layout_out *out);
/* The values of a run-end encoded column that must be one run over all its rows. */
OC_NODISCARD oc_status oci_layout_open_run(const oci_column *run, const oci_column **values,
                                           oc_error *err);
/* The only value of a binary column. */
OC_NODISCARD oc_status oci_layout_open_binary(const oci_column *column, const uint8_t **bytes,
                                              int64_t *size, oc_error *err);

/* ---- plain columns beside others (layout_plain.c) -------------------------------------------- */

/* Slab and structs (bytes of `extra`) that a copy of a column that the IPC decoder made takes. */
void oci_plain_measure(const oci_column *column, int64_t *slab_bytes, int64_t *extra_bytes);
/* Copies it; dictionaries are shared. */
void oci_plain_copy(const oci_column *column, const oci_field *field, oci_unpack_out *out,
                    oci_column *copy);

#endif /* OUTCORE_SPILL_LAYOUT_INTERNAL_H */
