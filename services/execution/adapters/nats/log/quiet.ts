import type { Tail } from './tail.ts';

interface QuietOptions {
  readonly tails: () => Iterable<Tail>;
  /** Called with a followed tail that has been quiet for a while: its last frame may have been missed. */
  readonly onQuiet: (tail: Tail) => void;
  readonly now?: () => number;
}

/** How long a followed log is quiet at most before it is compared with the stream again, in milliseconds. */
const longestQuietMs = 16_000;

/** How often it is looked for quiet logs, in milliseconds. */
export const quietCheckMs = 500;

/**
 * Finds followed logs that may have missed their last frame, as when servers lose their connection to each other. The pause
 * doubles as long as a log stays quiet, so that a run which waits for hours costs little.
 */
export function checkQuiet({ tails, onQuiet, now = () => performance.now() }: QuietOptions): void {
  const at = now();
  for (const tail of tails()) {
    if (tail.listeners === 0 || tail.ended || at - tail.quietSince < tail.quietMs) continue;
    tail.quietSince = at;
    tail.quietMs = Math.min(tail.quietMs * 2, longestQuietMs);
    onQuiet(tail);
  }
}
