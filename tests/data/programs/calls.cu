// What leaves the ordinary path of a kernel: pointers to functions, virtual functions, printf, assertions and the heap.
typedef float (*Function)(float, float);
__device__ __noinline__ float add(float a, float b) { return a + b; }
__device__ __noinline__ float multiply(float a, float b) { return a * b; }
__device__ __noinline__ float divide(float a, float b) { return a / b; }
__device__ Function functions[3] = {add, multiply, divide};

extern "C" __global__ void pointers(const int *which, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = functions[which[i]](x[i], 2.0f + i);
}

struct Shape {
    float side;
    __device__ virtual float area() { return side * side; }
};
struct Triangle : Shape {
    __device__ float area() override { return side * side / 2; }
};

extern "C" __global__ void areas(const int *which, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Shape square;
    Triangle triangle;
    square.side = triangle.side = i;
    Shape *shape = which[i] == 0 ? &square : which[i] == 1 ? static_cast<Shape *>(&triangle) : &square;
    x[i] = shape->area();
}

extern "C" __global__ void print(const int *which) {
    int i = threadIdx.x;
    if (i < 2) {
        printf("thread %d: %5.2f|%-6s|%04x|%c|%lld|%+d|%e%%\n", i, 1.5 * which[i], i ? "one" : "zero", 255u, 'a' + i, 1ll << 40, i, 12345.678);
    }
}

extern "C" __global__ void lists(int *sums) {
    int i = threadIdx.x;
    struct Node { int value; Node *next; };
    Node *first = nullptr;
    for (int k = 0; k <= i % 4; ++k) {
        Node *node = static_cast<Node *>(malloc(sizeof(Node)));
        node->value = k + i;
        node->next = first;
        first = node;
    }
    int sum = 0;
    while (first) {
        sum += first->value;
        Node *next = first->next;
        free(first);
        first = next;
    }
    sums[i] = sum;
}

// What the macro assert calls.
extern "C" __device__ void __assertfail(const char *, const char *, unsigned, const char *, unsigned long);

extern "C" __global__ void refuse(const int *which) {
    if (which[threadIdx.x] == 2) {
        __assertfail("which != 2", "calls.cu", 7, "refuse", 1);
    }
}
