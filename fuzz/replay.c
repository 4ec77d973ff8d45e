/* Runs a fuzz target over the files of a folder, without libFuzzer: what fuzzing once found, and
 * the seeds, become tests of every build.
 *
 *     <target>_replay FOLDER-OR-FILE...
 *
 * A folder that does not exist is an error: a test must not pass because it found nothing. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path, long size)
{
    uint8_t *data =
        malloc((size_t)size + (size == 0)); /* exact, so that reads behind it are seen */
    FILE *file = fopen(path, "rb");
    if (data == NULL || file == NULL || fread(data, 1, (size_t)size, file) != (size_t)size) {
        perror(path);
        return 1;
    }
    fclose(file);
    LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    return 0;
}

static int run_path(const char *path, long *n_run);

static int run_folder(const char *path, long *n_run)
{
    struct dirent **entries = NULL;
    int n = scandir(path, &entries, NULL, alphasort);
    int failed = n < 0;
    if (n < 0) {
        perror(path);
    }
    for (int i = 0; i < n; i++) {
        char name[4096];
        if (entries[i]->d_name[0] != '.') {
            snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
            failed |= run_path(name, n_run);
        }
        free(entries[i]);
    }
    free(entries);
    return failed;
}

static int run_path(const char *path, long *n_run)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        perror(path);
        return 1;
    }
    if (S_ISDIR(info.st_mode)) {
        return run_folder(path, n_run);
    }
    (*n_run)++;
    return run_file(path, (long)info.st_size);
}

int main(int argc, char **argv)
{
    long n_run = 0;
    int failed = 0;
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++) {
        failed |= run_path(argv[i], &n_run);
    }
    printf("%ld inputs\n", n_run);
    return failed || n_run == 0;
}
