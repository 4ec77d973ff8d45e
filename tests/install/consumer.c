/* A C user of an installed liboutcore: the headers compile on their own and the library links. */
#include <outcore/outcore.h>
#include <outcore/spill.h>
#include <outcore/sql.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    if (strcmp(oc_status_name(OC_OK), "OC_OK") != 0) {
        return 1;
    }
    oc_spill_options options = OC_SPILL_OPTIONS_INIT;
    oc_spill_manager *manager;
    if (oc_spill_manager_create(&options, &manager, NULL) != OC_OK) {
        return 1;
    }
    oc_spill_manager_destroy(manager);
    oc_options session_options = OC_OPTIONS_INIT;
    oc_session *session;
    if (oc_session_create(&session_options, &session, NULL) != OC_OK) {
        return 1;
    }
    oc_session_destroy(session);
    printf("outcore %s\n", oc_version());
    return 0;
}
