# Log scores of probabilities.


def relative_logs(const double[:, ::1] table, const double[::1] shares, double smallest, double[:, ::1] out):
    """Write the logs of the probabilities of examples, relative to what each would score with any label."""
    cdef Py_ssize_t i, j
    cdef double mean
    with nogil:
        for i in range(table.shape[0]):
            mean = 0.0
            for j in range(table.shape[1]):
                out[i, j] = log(max(table[i, j], smallest))
                mean += out[i, j] * shares[j]
            for j in range(table.shape[1]):
                out[i, j] -= mean
