/* A C user of an installed liboutcore: the headers compile on their own and the library links. */
#include <outcore/outcore.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    if (strcmp(oc_status_name(OC_OK), "OC_OK") != 0) {
        return 1;
    }
    printf("outcore %s\n", oc_version());
    return 0;
}
