// A sparse matrix times a vector. Rows are sorted by length; element k of all rows lies together, from `begin[k]` on. `lengths` has the length
// of the longest row of every 32. Both are in constant memory. The loop reads one element ahead.
__constant__ int begin[512];
__constant__ int lengths[4096];

extern "C" __global__ void multiply(float *out, const float *values, const int *columns, const int *rows, const float *vector, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, length = lengths[i >> 5];
    if (i >= count) return;
    float sum = 0;
    int at = begin[0] + i;
    float value = values[at], element = vector[columns[at]];
    if (length > 1) {
        at = begin[1] + i;
        int column = columns[at];
        for (int k = 2; k < length; k++) {
            float nextValue = values[at];
            at = begin[k] + i;
            int nextColumn = columns[at];
            float nextElement = vector[column];
            sum += value * element;
            column = nextColumn;
            value = nextValue;
            element = nextElement;
        }
        float nextValue = values[at], nextElement = vector[column];
        sum += value * element;
        value = nextValue;
        element = nextElement;
    }
    sum += value * element;
    out[rows[i]] = sum;
}
