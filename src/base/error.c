/* Error records: the one place where an error is born, and the names of the status codes.
 *
 * A message is always built in a local buffer first, because its arguments may point into the
 * very record that is being filled ("%s", err->message). Nothing here allocates, so that running
 * out of memory can be reported too. */
#include "base/error.h"

#include <stdio.h>
#include <string.h>

/* How long the UTF-8 sequence is that `lead` announces; 1 for anything that is not a lead byte. */
static size_t utf8_length(unsigned char lead)
{
    if (lead >= 0xF0) {
        return 4;
    }
    if (lead >= 0xE0) {
        return 3;
    }
    return lead >= 0xC0 ? 2 : 1;
}

/* Takes back a character that the end of the buffer cut in two. */
static void drop_partial_character(char *text)
{
    size_t length = strlen(text);
    size_t start = length;
    for (int back = 0; start > 0 && back < 4; back++) {
        start--;
        unsigned char byte = (unsigned char)text[start];
        if ((byte & 0xC0) != 0x80) {
            if (start + utf8_length(byte) > length) {
                text[start] = '\0';
            }
            return;
        }
    }
}

/* Messages are one line, and names in them come from outside: line breaks and terminal escapes
 * do not get through. */
static void replace_control_characters(char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte < 0x20 || byte == 0x7F) {
            *text = '?';
        }
    }
}

static void finish_message(oc_error *err, const char *text, bool cut)
{
    memcpy(err->message, text, strlen(text) + 1);
    if (cut) {
        drop_partial_character(err->message);
    }
    replace_control_characters(err->message);
}

oc_status oci_error_set(oc_error *err, oc_status status, int sys_errno, const char *file, int line,
                        const char *fmt, ...)
{
    if (err == NULL) {
        return status;
    }
    char text[sizeof err->message];
    va_list args;
    va_start(args, fmt);
    int wanted = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (wanted < 0) {
        text[0] = '\0';
    }
    err->status = status;
    err->sys_errno = sys_errno;
    err->file = file;
    err->line = line;
    err->needed_bytes = 0;
    finish_message(err, text, wanted >= (int)sizeof text);
    return status;
}

void oci_error_prefix(oc_error *err, const char *fmt, ...)
{
    if (err == NULL) {
        return;
    }
    char prefix[sizeof err->message];
    va_list args;
    va_start(args, fmt);
    int wanted = vsnprintf(prefix, sizeof prefix, fmt, args);
    va_end(args);
    if (wanted < 0) {
        return;
    }
    char text[sizeof err->message];
    int length = snprintf(text, sizeof text, "%s: %s", prefix, err->message);
    finish_message(err, text, length >= (int)sizeof text || wanted >= (int)sizeof prefix);
}

void oci_error_clear(oc_error *err)
{
    if (err != NULL) {
        memset(err, 0, sizeof *err);
    }
}

const char *oci_strerror(int errnum, char *buffer, size_t size)
{
    const char *text = strerror_r(errnum, buffer, size);
    return text != NULL ? text : "unknown error";
}

const char *oc_status_name(oc_status status)
{
    switch (status) {
    case OC_OK: return "OC_OK";
    case OC_EINVAL: return "OC_EINVAL";
    case OC_EDATA: return "OC_EDATA";
    case OC_EUNSUPPORTED: return "OC_EUNSUPPORTED";
    case OC_EBUDGET: return "OC_EBUDGET";
    case OC_ENOMEM: return "OC_ENOMEM";
    case OC_ENOSPC: return "OC_ENOSPC";
    case OC_EIO: return "OC_EIO";
    case OC_ESTREAM: return "OC_ESTREAM";
    case OC_ECANCELED: return "OC_ECANCELED";
    case OC_EINTERNAL: return "OC_EINTERNAL";
    }
    return "OC_UNKNOWN";
}

int oc_status_errno(oc_status status)
{
    switch (status) {
    case OC_OK: return 0;
    case OC_EINVAL:
    case OC_EDATA: return EINVAL;
    case OC_EUNSUPPORTED: return ENOTSUP;
    case OC_EBUDGET:
    case OC_ENOMEM: return ENOMEM;
    case OC_ENOSPC: return ENOSPC;
    case OC_ECANCELED: return ECANCELED;
    case OC_EIO:
    case OC_ESTREAM:
    case OC_EINTERNAL: return EIO;
    }
    return EIO;
}
