import { unavailable } from '@agent-workflow/kit/errors';
import type { PartHealth } from './health.ts';
import { counter, histogram, type Instruments } from './metrics.ts';

/** One request to a server. */
export interface SentRequest<K extends string = string> {
  /** What it does, in words; in metrics `_` stands for a space. */
  readonly kind: K;
  /** How it ended: `lost` is a write that another one came before; it is tried again. It never rejects. */
  readonly answered: Promise<'ok' | 'lost' | 'failed'>;
}

interface RequestNames {
  /** The name of the counter, and what is counted. */
  readonly requests: readonly [name: string, help: string];
  /** The name of the histogram, and what is measured. */
  readonly seconds: readonly [name: string, help: string];
  /** The kinds of requests, as metrics have them. */
  readonly kinds: readonly string[];
}

/** What is measured of the requests to one server. */
export const requestMetrics = ({ requests, seconds, kinds }: RequestNames) => ({
  requests: counter(...requests, { kind: kinds, outcome: ['ok', 'lost', 'failed'] }),
  seconds: histogram(
    ...seconds,
    { kind: kinds },
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
  ),
});

interface Observers {
  /** Gets a report of each request that fails, and of those that show that the server works again. */
  readonly health: PartHealth;
  /** Absent when nothing is measured. */
  readonly meters: Instruments<ReturnType<typeof requestMetrics>> | undefined;
  /** Milliseconds from any moment on. */
  readonly clock?: () => number;
}

/** Takes each request when it is sent. Counts and measures it when it ends, and reports whether the server answers. */
export function observeRequests({
  health,
  meters,
  clock = () => performance.now(),
}: Observers): (request: SentRequest) => void {
  const watch = watchRequests(health, clock);
  if (!meters) return watch;
  const { requests, seconds } = meters;
  return (request) => {
    const start = clock();
    const kind = request.kind.replace(' ', '_');
    void request.answered.then((outcome) => {
      requests.add({ kind, outcome });
      seconds.observe({ kind }, (clock() - start) / 1000);
    });
    watch(request);
  };
}

/** Milliseconds without a failure after which the server counts as available again. */
const quietMs = 5000;

/** Reports the server as unavailable while requests fail. */
function watchRequests(health: PartHealth, clock: () => number): (request: SentRequest) => void {
  let failedAt = -Infinity;
  return ({ kind, answered }) => {
    void answered.then((outcome) => {
      const now = clock();
      if (outcome === 'failed') {
        failedAt = now;
        health.fails('it is unavailable, or too slow', unavailable(`a ${kind} failed`));
      } else if (now - failedAt > quietMs) health.works();
    });
  };
}
