/* The frame of every pixel's learner, for one type of number and one instruction set.  Included by pixels_kernel.h with
   PIXELS(x) naming the functions, SINGLE telling float from double, and PIXELS_EXP the exponential of numbers from FAR
   to 0; no include guard. */
#if SINGLE
#define REAL float
#define WHOLE int32_t
#define SMALLEST_SCALE 1e-10f
#define FAR -80.0f
#else
#define REAL double
#define WHOLE int64_t
#define SMALLEST_SCALE 1e-30
#define FAR -700.0
#endif
#define TILE PIXELS_TILE
#define EACH for (int p = 0; p < TILE; p++)

/* exp(x), x <= 0, and 0 beyond FAR: numbers too small for the type's normal range would cost a hundred cycles each. */
static inline REAL PIXELS(near)(REAL x) {
  const REAL e = PIXELS_EXP(x < FAR ? FAR : x);
  return x < FAR ? 0 : e;
}

/* The tile's part of the frame as planes x [c][TILE]; beyond the last pixel zeros. */
static void PIXELS(load)(const pixels_job *job, ptrdiff_t first, int count, REAL *restrict x) {
  const ptrdiff_t c = job->c;
  if (count < TILE) memset(x, 0, (size_t)c * TILE * sizeof *x);
  if (job->bytes) {
    const unsigned char *frame = (const unsigned char *)job->frame + first * c;
    for (ptrdiff_t i = 0; i < c; i++)
      for (int p = 0; p < count; p++) x[i * TILE + p] = (REAL)frame[p * c + i] / (REAL)255;
  } else {
    const REAL *frame = (const REAL *)job->frame + first * c;
    for (ptrdiff_t i = 0; i < c; i++)
      for (int p = 0; p < count; p++) x[i * TILE + p] = frame[p * c + i];
  }
}

/* f[p] = sum of coef k(point, x) over the slots, without the scale; least[p] = smallest coefficient. */
static void PIXELS(values)(const pixels_job *job, const REAL *restrict x, const REAL *restrict points,
                           const REAL *restrict coef, REAL *restrict f, REAL *restrict least) {
  const REAL rate = (REAL)job->rate;
  REAL d[TILE];
  EACH f[p] = 0, least[p] = coef[p];
  for (ptrdiff_t j = 0; j < job->budget; j++, coef += TILE) {
    EACH d[p] = 0;
    for (ptrdiff_t i = 0; i < job->c; i++, points += TILE) {
      const REAL *restrict xi = x + i * TILE;
      if (job->absolute) {
        EACH {
          const REAL u = points[p] - xi[p];
          d[p] += u < 0 ? -u : u;
        }
      } else {
        EACH {
          const REAL u = points[p] - xi[p];
          d[p] += u * u;
        }
      }
    }
    EACH f[p] += coef[p] * PIXELS(near)(rate * d[p]);
    EACH least[p] = coef[p] < least[p] ? coef[p] : least[p];
  }
}

/* slot[p] = the oldest of the slots with the smallest coefficient, or with `ring` of all; empty ones were born at -1. */
static void PIXELS(slots)(const pixels_job *job, const REAL *restrict coef, const WHOLE *restrict born,
                          const REAL *restrict least, WHOLE *restrict slot) {
  WHOLE age[TILE];
  const int ring = job->ring;
  EACH age[p] = SINGLE ? INT32_MAX : INT64_MAX, slot[p] = 0;
  for (ptrdiff_t j = 0; j < job->budget; j++, coef += TILE, born += TILE) {
    EACH {
      const int here = (ring | (coef[p] == least[p])) & (born[p] < age[p]);
      age[p] = here ? born[p] : age[p];
      slot[p] = here ? (WHOLE)j : slot[p];
    }
  }
}

/* Every stored coefficient takes up its pixel's scale, where that has become small. */
static void PIXELS(rescale)(ptrdiff_t budget, REAL *restrict coef, REAL *restrict scale) {
  EACH {
    if (scale[p] >= SMALLEST_SCALE) continue;
    for (ptrdiff_t j = 0; j < budget; j++) coef[j * TILE + p] *= scale[p];
    scale[p] = 1;
  }
}

/* The round after the prediction f: decay, the new coefficient, and the slot that it takes. */
static void PIXELS(learn)(const pixels_job *job, ptrdiff_t first, int count, const REAL *restrict x,
                          const REAL *restrict f, const REAL *restrict least, REAL *restrict points,
                          REAL *restrict coef, WHOLE *restrict born, REAL *restrict scale) {
  const REAL keep = (REAL)job->keep, cap = (REAL)job->cap, rho = (REAL)job->rho;
  REAL new[TILE];
  WHOLE slot[TILE], live[TILE];
  EACH live[p] = p < count;
  if (job->frozen)
    for (int p = 0; p < count; p++) live[p] = !job->frozen[first + p];
  EACH scale[p] = live[p] ? scale[p] * keep : scale[p];
  if (job->ring) {
    EACH new[p] = f[p] < rho ? cap / scale[p] : 0;
  } else {
    EACH {
      REAL alpha = rho - keep * f[p];
      alpha = alpha > cap ? cap : alpha;
      new[p] = alpha / scale[p];
      live[p] &= (alpha > 0) & (new[p] >= least[p]);
    }
  }
  PIXELS(slots)(job, coef, born, least, slot);
  for (int p = 0; p < count; p++) {
    if (!live[p]) continue;
    const ptrdiff_t at = slot[p] * TILE + p;
    REAL *to = points + slot[p] * job->c * TILE + p;
    coef[at] = new[p], born[at] = (WHOLE)job->now;
    for (ptrdiff_t i = 0; i < job->c; i++) to[i * TILE] = x[i * TILE + p];
  }
  WHOLE small = 0;
  EACH small |= scale[p] < SMALLEST_SCALE;
  if (small) PIXELS(rescale)(job->budget, coef, scale);
}

/* Tiles first..last-1 of the frame: scores, and with job->learn a round of learning.  Nonzero: out of memory. */
static int PIXELS(sweep)(const pixels_job *job, ptrdiff_t begin, ptrdiff_t end) {
  REAL *x = malloc((size_t)job->c * TILE * sizeof *x), f[TILE], least[TILE];
  if (!x) return 1;
  for (ptrdiff_t t = begin; t < end; t++) {
    const ptrdiff_t first = t * TILE;
    const int count = (int)(job->n - first < TILE ? job->n - first : TILE);
    REAL *points = (REAL *)job->points + t * job->budget * job->c * TILE, *coef = (REAL *)job->coef + t * job->budget * TILE;
    REAL *scale = (REAL *)job->scale + first, *scores = (REAL *)job->scores + first;
    PIXELS(load)(job, first, count, x);
    PIXELS(values)(job, x, points, coef, f, least);
    EACH f[p] *= scale[p];
    memcpy(scores, f, (size_t)count * sizeof *f);
    if (job->learn)
      PIXELS(learn)(job, first, count, x, f, least, points, coef, (WHOLE *)job->born + t * job->budget * TILE, scale);
  }
  free(x);
  return 0;
}
#undef REAL
#undef WHOLE
#undef SMALLEST_SCALE
#undef FAR
#undef TILE
#undef EACH
