/* See stats.h. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

#include "cli/stats.h"

/* VmHWM of Linux belongs to the program since exec. ru_maxrss also counts the process that started
 * it: run from a large interpreter, it would report the interpreter. So it is only the second
 * choice. */
static int64_t read_high_water_mark(void)
{
    FILE *status = fopen("/proc/self/status", "re");
    char text[256];
    int64_t kib = 0;
    if (status == NULL) {
        return 0;
    }
    while (fgets(text, sizeof text, status) != NULL) {
        if (sscanf(text, "VmHWM: %" SCNd64, &kib) == 1) {
            break;
        }
    }
    fclose(status);
    return kib * 1024;
}

int64_t oci_cli_peak_rss_bytes(void)
{
    struct rusage usage;
    int64_t bytes = read_high_water_mark();
    if (bytes == 0 && getrusage(RUSAGE_SELF, &usage) == 0) {
        bytes = (int64_t)usage.ru_maxrss * 1024;
    }
    return bytes;
}

void oci_cli_print_stats(const oc_metrics *metrics, int64_t rows, double seconds)
{
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {
        {"limit_bytes", metrics->memory_limit},
        {"peak_budget_bytes", metrics->memory_peak},
        {"peak_rss_bytes", oci_cli_peak_rss_bytes()},
        {"runs", metrics->runs},
        {"spill_count", metrics->spill_count},
        {"spilled_bytes", metrics->spilled_bytes},
        {"spilled_rows", metrics->spilled_rows},
        {"read_back_bytes", metrics->read_back_bytes},
        {"merge_passes", metrics->merge_passes},
        {"disk_peak_bytes", metrics->disk_peak},
        {"spilled_memory_bytes", metrics->spilled_memory_bytes},
        {"spill_writes", metrics->spill_writes},
        {"spill_encode_ns", metrics->spill_encode_ns},
        {"spill_write_ns", metrics->spill_write_ns},
        {"spill_read_ns", metrics->spill_read_ns},
        {"spill_decode_ns", metrics->spill_decode_ns},
        {"threads", metrics->threads},
    };
    fprintf(stderr, "{\"rows\": %" PRId64 ", \"seconds\": %.3f", rows, seconds);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        fprintf(stderr, ", \"%s\": %" PRId64, numbers[i].name, numbers[i].value);
    }
    fprintf(stderr, ", \"codec\": \"%s\", \"encoding\": \"%s\"}\n", metrics->codec,
            metrics->spill_encoding);
}
