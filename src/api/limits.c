/* See limits.h. Reads a few small files under /proc and /sys; whatever cannot be read does not
 * limit. */
#include "api/limits.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

#define PHYSICAL_PERCENT 80
/* Below this not even narrow rows can be sorted: blocks of 16 KiB, a merge of two of them, output,
 * reader. */
/* Values above this mean "no limit" in cgroup v1. */
#define NO_LIMIT ((int64_t)1 << 60)

static int64_t physical_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? (int64_t)pages * page_bytes : (int64_t)1 << 30;
}

/* A number from a one-line file; "max", errors and nonsense give NO_LIMIT. */
static int64_t read_limit(const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return NO_LIMIT;
    }
    char line[64] = "";
    bool has_line = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    char *end;
    long long value = strtoll(line, &end, 10);
    return has_line && end != line && value > 0 && value < NO_LIMIT ? value : NO_LIMIT;
}

/* Limits apply from the process's group up to the root: the smallest counts. */
static int64_t smallest_limit_up(const char *root, char *group, const char *name)
{
    int64_t smallest = NO_LIMIT;
    for (;;) {
        char path[4096];
        if (snprintf(path, sizeof path, "%s%s/%s", root, group, name) < (int)sizeof path) {
            int64_t limit = read_limit(path);
            smallest = limit < smallest ? limit : smallest;
        }
        char *slash = strrchr(group, '/');
        if (slash == NULL) {
            return smallest;
        }
        *slash = '\0';
    }
}

/* Lines of /proc/self/cgroup: "0::/path" for version 2, "4:memory:/path" for version 1. */
static int64_t cgroup_limit(void)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (file == NULL) {
        return NO_LIMIT;
    }
    int64_t smallest = NO_LIMIT;
    char line[2048];
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers == NULL ? NULL : strchr(controllers + 1, ':');
        if (group == NULL) {
            continue;
        }
        *group++ = '\0';
        int64_t limit = NO_LIMIT;
        if (controllers[1] == '\0') {
            limit = smallest_limit_up("/sys/fs/cgroup", group, "memory.max");
        } else if (strstr(controllers, "memory") != NULL) {
            limit = smallest_limit_up("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
        }
        smallest = limit < smallest ? limit : smallest;
    }
    fclose(file);
    return smallest;
}

int64_t oci_default_memory_limit(void)
{
    int64_t physical = physical_bytes() / 100 * PHYSICAL_PERCENT;
    int64_t group = cgroup_limit();
    return physical < group ? physical : group;
}

oc_status oci_check_memory_limit(int64_t limit, oc_error *err)
{
    if (limit >= OCI_MEMORY_LIMIT_MIN) {
        return OC_OK;
    }
    char text[OCI_BYTES_TEXT];
    OC_SET(err, OC_EBUDGET, "memory limit of %s is too small: the smallest is 1 MiB",
           oci_format_bytes(limit, text));
    if (err != NULL) {
        err->needed_bytes = OCI_MEMORY_LIMIT_MIN;
    }
    return OC_EBUDGET;
}

int32_t oci_core_count(void)
{
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) == 0) {
        return (int32_t)CPU_COUNT(&cores);
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int32_t)online : 1;
}
