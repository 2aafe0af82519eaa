__global__ void wrong(int *x)
{
    *x = nothing;
}
