/** How long work goes on before the page may draw and react, in milliseconds. */
const sliceMs = 8;

/**
 * Does work that yields after each part of it, a slice at a time, and hands on what it returns. Work that fits in the first slice is done
 * when this returns. What comes after an abort is left undone.
 */
export function inSlices<T>(work: Iterator<undefined, T>, onDone: (result: T) => void, signal?: AbortSignal): void {
  const go = (): void => {
    if (signal?.aborted) return;
    const until = performance.now() + sliceMs;
    for (;;) {
      const next = work.next();
      if (next.done) {
        onDone(next.value);
        return;
      }
      if (performance.now() >= until) break;
    }
    setTimeout(go, 0);
  };
  go();
}
