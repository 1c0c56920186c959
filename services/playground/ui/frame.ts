import { signal, type ReadonlySignal } from '@preact/signals';

/** Gathers changes, so that the page is drawn once a frame however many there are. */
interface Frame {
  /** Raised with each drawing. */
  readonly drawn: ReadonlySignal<number>;
  /** Something has changed. */
  readonly touch: () => void;
}

export function createFrame(): Frame {
  const drawn = signal(0);
  let isScheduled = false;
  const draw = (): void => {
    isScheduled = false;
    drawn.value++;
  };
  const touch = (): void => {
    if (isScheduled) return;
    isScheduled = true;
    requestAnimationFrame(draw);
  };
  return { drawn, touch };
}

/** How long events are applied before the page may draw and react, in milliseconds. */
const turnMs = 12;

/** Lets the page draw and react when events have come for a while without a pause: a replay brings thousands at once. */
export function createYieldToPage(): () => Promise<void> | undefined {
  let since = 0;
  let isFresh = false;
  return () => {
    const now = performance.now();
    if (!isFresh) {
      since = now;
      isFresh = true;
      // Any task that comes between two events is a pause.
      setTimeout(() => (isFresh = false), 0);
    }
    if (now - since < turnMs) return undefined;
    isFresh = false;
    return new Promise((resolve) => setTimeout(resolve, 0));
  };
}
