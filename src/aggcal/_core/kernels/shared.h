/* What the kernels in C share: how they are compiled, exponentials, sums. */
#ifndef AGGCAL_SHARED_H
#define AGGCAL_SHARED_H
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Everything is inlined where it is used, so that loops over it become vectors. */
#define PART static inline

/* e^-a for 0 <= a; a above 708 is taken as 708. Written out so that compilers vectorise it, the
 * polynomial in pairs so that no term waits for the one before. */
PART double exp_minus(double a)
{
    const double magic = 6755399441055744.0; /* 1.5 * 2^52: adding it rounds to an integer */
    double shifted, power, r, r2, r4, low, middle, high;
    int64_t bits, base;
    a = a < 708.0 ? a : 708.0;
    shifted = a * 1.4426950408889634 + magic;
    power = shifted - magic;
    r = (power * 0.693147180369123816490 - a) + power * 1.90821492927058770002e-10;
    r2 = r * r;
    r4 = r2 * r2;
    low = (1.0 + r) + r2 * (0.5 + r * 1.6666666666666667e-01);
    middle = (4.1666666666666667e-02 + r * 8.3333333333333333e-03) +
             r2 * (1.3888888888888889e-03 + r * 1.9841269841269841e-04);
    high = (2.4801587301587302e-05 + r * 2.7557319223985893e-06) +
           r2 * (2.7557319223985891e-07 + r * 2.5052108385441719e-08) +
           r4 * (2.0876756987868099e-09 + r * 1.6059043836821613e-10);
    low += r4 * (middle + r4 * high);
    memcpy(&bits, &shifted, sizeof bits);
    memcpy(&base, &magic, sizeof base);
    bits = (1023 - (bits - base)) << 52;
    memcpy(&r, &bits, sizeof r);
    return low * r;
}

/* log(1 + e) for 0 <= e <= 1, as 2 atanh of a number below 0.172; vectorises too. */
PART double log_one_plus(double e)
{
    const int large = e > 0.41421356237309503;
    const double z = (large ? e - 1.0 : e) / (large ? e + 3.0 : e + 2.0), q = z * z, q2 = q * q;
    double low = 2.0 + q * 6.6666666666666667e-01;
    double middle = 0.4 + q * 2.8571428571428571e-01;
    double high = 2.2222222222222222e-01 + q * 1.8181818181818182e-01;
    double top = 1.5384615384615385e-01 + q * 1.3333333333333333e-01;
    double last = 1.1764705882352941e-01 + q * 1.0526315789473684e-01;
    last = (high + q2 * top) + q2 * q2 * (last + q2 * 9.5238095238095238e-02);
    return z * (low + q2 * (middle + q2 * last)) + (large ? 0.69314718055994531 : 0.0);
}

/* Four running sums: compilers may not reorder a sum by themselves, and one alone is slow. */
PART double dot(const double *x, const double *y, int n)
{
    double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
    int k = 0;
    for (; k + 4 <= n; k += 4) {
        a += x[k] * y[k];
        b += x[k + 1] * y[k + 1];
        c += x[k + 2] * y[k + 2];
        d += x[k + 3] * y[k + 3];
    }
    for (; k < n; k++) a += x[k] * y[k];
    return (a + b) + (c + d);
}
#endif
