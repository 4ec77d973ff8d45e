/* Settings of a session: SET, SHOW, RESET. */
#ifndef OUTCORE_API_SQL_SETTINGS_H
#define OUTCORE_API_SQL_SETTINGS_H

#include "base/error.h"
#include "outcore/outcore.h"

/* Options of the session's context, and the texts in them. */
typedef struct oci_settings {
    oc_options now;
    oc_options first; /* what RESET goes back to */
    char *folder;     /* of SET temp_directory */
    const char *folders[1];
} oci_settings;

/* Sets `name`; value NULL = RESET. *notice (of `size` bytes) tells of what has no effect. OC_EINVAL: unknown name
 * (with the nearest), bad value. *changes: a new context is needed. */
OC_NODISCARD oc_status oci_settings_set(oci_settings *settings, const char *name, const char *value,
                                        bool *changes, char *notice, size_t size, oc_error *err);
void oci_settings_reset_all(oci_settings *settings);
/* Setting number i: name, value, description; false behind the last. */
bool oci_settings_at(const oci_settings *settings, int32_t i, const char **name, char *value,
                     size_t size, const char **description);
/* The number of a name or synonym; -1: unknown. */
int32_t oci_settings_find(const char *name);
/* The nearest known name. */
const char *oci_settings_near(const char *name);

#endif /* OUTCORE_API_SQL_SETTINGS_H */
