/* Finding a Java installation that is new enough, by its files alone. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bridge.h"

enum { OLDEST = JCCL_OLDEST_JAVA, VERSION_PARTS = 4 };

typedef struct {
    int version[VERSION_PARTS]; /* 25.0.3 is {25, 0, 3, 0}; all 0 if unknown */
    bool library;               /* lib/server/libjvm.so can be read */
    bool vector;
} installation;

static const char* const places = "JCCL_JAVA_HOME, JAVA_HOME, /usr/lib/jvm and PATH";

/* Reads JAVA_VERSION="1.2.3" and MODULES="a b c" from the file `release`. */
static void read_release(const char* home, installation* found) {
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/release", home);
    FILE* file = fopen(path, "re");
    if (file == NULL) {
        return;
    }
    char* line = NULL;
    size_t size = 0;
    bool modules = false;
    while (getline(&line, &size, file) > 0) {
        if (strncmp(line, "JAVA_VERSION=\"", 14) == 0) {
            int* v = found->version;
            if (sscanf(line + 14, "%d.%d.%d.%d", &v[0], &v[1], &v[2], &v[3]) < 1) {
                v[0] = 0;
            }
        } else if (strncmp(line, "MODULES=", 8) == 0) {
            modules = true;
            found->vector = strstr(line, "jdk.incubator.vector") != NULL;
        }
    }
    if (!modules) {
        found->vector = true;
    }
    free(line);
    fclose(file);
}

static installation look(const char* home) {
    installation found = {{0}, false, false};
    char path[PATH_MAX + 64];
    read_release(home, &found);
    snprintf(path, sizeof path, "%s/lib/server/libjvm.so", home);
    found.library = access(path, R_OK) == 0;
    return found;
}

static bool fits(const installation* found) {
    return found->version[0] >= OLDEST && found->library;
}

static int newer(const installation* a, const installation* b) {
    for (int i = 0; i < VERSION_PARTS; i++) {
        if (a->version[i] != b->version[i]) {
            return a->version[i] - b->version[i];
        }
    }
    return 0;
}

static bool take(jccl_jdk* jdk, const char* home, const installation* found) {
    if (!fits(found)) {
        return false;
    }
    snprintf(jdk->home, sizeof jdk->home, "%s", home);
    size_t length = strlen(jdk->home);
    while (length > 1 && jdk->home[length - 1] == '/') {
        jdk->home[--length] = '\0';
    }
    jdk->vector = found->vector;
    return true;
}

/* Says what is wrong with a home that the user has named. */
static void describe(char* text, size_t size, const char* name, const char* home,
                     const installation* found) {
    if (found->version[0] == 0) {
        snprintf(text, size, "%s=%.512s is no Java home with a file 'release'", name, home);
    } else if (found->version[0] < OLDEST) {
        snprintf(text, size, "%s=%.512s is Java %d", name, home, found->version[0]);
    } else {
        snprintf(text, size, "%s=%.512s has no lib/server/libjvm.so", name, home);
    }
}

static bool newest_in(jccl_jdk* jdk, const char* folder) {
    DIR* directory = opendir(folder);
    if (directory == NULL) {
        return false;
    }
    installation best = {{0}, false, false};
    char best_home[PATH_MAX] = "";
    struct dirent* entry;
    while ((entry = readdir(directory)) != NULL) {
        char home[PATH_MAX];
        int length = snprintf(home, sizeof home, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] == '.' || length >= (int)sizeof home) {
            continue;
        }
        installation found = look(home);
        if (fits(&found) && newer(&found, &best) > 0) {
            best = found;
            memcpy(best_home, home, sizeof home);
        }
    }
    closedir(directory);
    return take(jdk, best_home, &best);
}

/* The installation of the first `java` on PATH, through its links. */
static bool on_path(jccl_jdk* jdk) {
    const char* path = getenv("PATH");
    while (path != NULL && *path != '\0') {
        size_t length = strcspn(path, ":");
        char java[PATH_MAX];
        char real[PATH_MAX];
        snprintf(java, sizeof java, "%.*s/java", (int)length, path);
        if (length > 0 && access(java, X_OK) == 0 && realpath(java, real) != NULL) {
            char* bin = strstr(real, "/bin/java");
            if (bin != NULL) {
                *bin = '\0';
                installation found = look(real);
                if (take(jdk, real, &found)) {
                    return true;
                }
            }
        }
        path += length + (path[length] == ':');
    }
    return false;
}

bool jccl_find_jdk(jccl_jdk* jdk) {
    char java_home_says[768] = "";
    const char* own = getenv("JCCL_JAVA_HOME");
    if (own != NULL && *own != '\0') {
        installation found = look(own);
        if (take(jdk, own, &found)) {
            return true;
        }
        /* The user has chosen this installation, so look for no other one. */
        char what[768];
        describe(what, sizeof what, "JCCL_JAVA_HOME", own, &found);
        snprintf(jdk->reason, sizeof jdk->reason,
                 "%s, but JCCL needs Java %d or newer: set it to the home of such a JDK, or unset "
                 "it to search JAVA_HOME, /usr/lib/jvm and PATH",
                 what, OLDEST);
        return false;
    }
    const char* java_home = getenv("JAVA_HOME");
    if (java_home != NULL && *java_home != '\0') {
        installation found = look(java_home);
        if (take(jdk, java_home, &found)) {
            return true;
        }
        java_home_says[0] = ' ';
        java_home_says[1] = '(';
        describe(java_home_says + 2, sizeof java_home_says - 3, "JAVA_HOME", java_home, &found);
        strcat(java_home_says, ")");
    }
    if (newest_in(jdk, "/usr/lib/jvm") || on_path(jdk)) {
        return true;
    }
    snprintf(jdk->reason, sizeof jdk->reason,
             "JCCL needs Java %d or newer and found none by %s%s: install a JDK %d, such as the "
             "package temurin-%d-jdk or openjdk-%d-jre-headless, or set JCCL_JAVA_HOME",
             OLDEST, places, java_home_says, OLDEST, OLDEST, OLDEST);
    return false;
}
