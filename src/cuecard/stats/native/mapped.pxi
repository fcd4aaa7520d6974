# Large arrays of numpy in files that are mapped: the system takes their pages back where memory is short.

cdef extern from *:
    """
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #if defined(__linux__)
    #include <fcntl.h>
    #include <sys/mman.h>
    #include <unistd.h>
    #endif

    #define CUECARD_HANDLER "mem_handler"  /* numpy looks for this name */
    #define CUECARD_PATH 4096  /* bytes of the longest path */
    #define CUECARD_BEFORE 64  /* bytes before an array, a multiple of what any processor aligns numbers to */

    /* What numpy asks for memory, and where arrays of at least so many bytes are files. */
    typedef struct {
        PyDataMem_Handler handler;
        size_t least;
        char folder[CUECARD_PATH];
    } cuecard_files;

    /* What stands before an array: how much is mapped of a file, 0 for memory, and how many bytes the array has. */
    typedef struct { size_t mapped, size; } cuecard_before;

    /* Return zeros in a file without a name, or NULL where there is no room for one. */
    static void *cuecard_mapped(const cuecard_files *files, size_t size) {
    #if defined(__linux__)
        char name[CUECARD_PATH + sizeof "/array-XXXXXX"];
        snprintf(name, sizeof name, "%s/array-XXXXXX", files->folder);
        int file = mkostemp(name, O_CLOEXEC);
        if (file < 0) return NULL;
        unlink(name);
        void *place = MAP_FAILED;
        /* A full disk is noticed here, rather than where the array is written to. */
        if (posix_fallocate(file, 0, (off_t)size) == 0)
            place = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
        close(file);
        return place == MAP_FAILED ? NULL : place;
    #else
        return NULL;
    #endif
    }

    static void *cuecard_new(const cuecard_files *files, size_t size, int zeros) {
        if (size > SIZE_MAX - CUECARD_BEFORE) return NULL;
        size_t whole = size + CUECARD_BEFORE;
        cuecard_before *before = size < files->least ? NULL : cuecard_mapped(files, whole);
        size_t mapped = before ? whole : 0;
        if (!before) before = zeros ? calloc(whole, 1) : malloc(whole);
        if (!before) return NULL;
        before->mapped = mapped;
        before->size = size;
        return (char *)before + CUECARD_BEFORE;
    }

    static void *cuecard_malloc(void *files, size_t size) { return cuecard_new(files, size, 0); }

    static void *cuecard_calloc(void *files, size_t n, size_t size) {
        return size && n > SIZE_MAX / size ? NULL : cuecard_new(files, n * size, 1);
    }

    static void cuecard_free(void *files, void *array, size_t size) {
        if (!array) return;
        cuecard_before *before = (cuecard_before *)((char *)array - CUECARD_BEFORE);
    #if defined(__linux__)
        if (before->mapped) {
            munmap(before, before->mapped);
            return;
        }
    #endif
        free(before);
    }

    static void *cuecard_realloc(void *files, void *array, size_t size) {
        void *larger = cuecard_new(files, size, 0);
        if (larger && array) {
            size_t before = ((cuecard_before *)((char *)array - CUECARD_BEFORE))->size;
            memcpy(larger, array, before < size ? before : size);
            cuecard_free(files, array, before);
        }
        return larger;
    }

    /* Arrays hold the capsule, so that it is freed with the last of them. */
    static void cuecard_forget(PyObject *capsule) { free(PyCapsule_GetPointer(capsule, CUECARD_HANDLER)); }

    static PyObject *cuecard_handler(const char *folder, size_t least) {
        cuecard_files *files = calloc(1, sizeof(cuecard_files));
        if (!files) return PyErr_NoMemory();
        PyDataMemAllocator allocator = {
            files, cuecard_malloc, cuecard_calloc, cuecard_realloc, cuecard_free
        };
        strcpy(files->handler.name, "cuecard_files");
        files->handler.version = 1;
        files->handler.allocator = allocator;
        files->least = least;
        snprintf(files->folder, sizeof files->folder, "%s", folder);
        PyObject *capsule = PyCapsule_New(files, CUECARD_HANDLER, cuecard_forget);
        if (!capsule) free(files);
        return capsule;
    }
    """
    object files_handler "cuecard_handler" (const char* folder, size_t least)
    object set_handler "PyDataMem_SetHandler" (object handler)


def array_files(bytes folder, size_t least):
    """Return what has new arrays of at least so many bytes be files of a folder, for `keep_arrays`."""
    return files_handler(folder, least)


def keep_arrays(where):
    """Have new arrays be where an answer of `array_files` or of this function says; return where they were."""
    return set_handler(where)
