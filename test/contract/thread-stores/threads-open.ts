import type { ExecutionContext, TestFn } from 'ava';
import { processEnv } from '@agent-workflow/kit/env';
import { sizes } from '@agent-workflow/kit/sizes';
import type { Threads } from '@agent-workflow/protos/threads';

interface OpenThreadsOptions {
  /** At least so many versions of a thread are kept. */
  readonly keep?: number;
  /** Takes each stored text that is left out of a reply. */
  readonly onUnreadable?: (text: { readonly threadId: string; readonly column: string }) => void;
}

/** Opens an empty record. */
export type OpenThreads = (options?: OpenThreadsOptions) => Promise<Threads & AsyncDisposable>;

type Check = (title: string, body: (t: ExecutionContext, threads: Threads) => Promise<void>) => void;

/** Declares tests that have an empty record each; their titles begin with its name. */
export const checkOn =
  (test: TestFn, name: string, open: OpenThreads): Check =>
  (title, body) => {
    test(`${name}: ${title}`, async (t) => {
      await using threads = await open();
      await body(t, threads);
    });
  };

/** How much work the suite gives a record: a record behind a network takes longer for the same. */
export interface Scale {
  /** Runs that are made to wait for one thread; the limit is met only when it is as many as that. */
  readonly waitingRuns: number;
  /** Messages of the thread that is forked. */
  readonly forkedMessages: number;
  /** How many random stories are played. */
  readonly stories: number;
  readonly races: number;
}

/** For a record that is in this process: all of it in CI, a part where somebody waits for `npm test`. */
export const usualScale: Scale =
  processEnv()['THOROUGH'] === '1'
    ? { waitingRuns: sizes.queuedRuns, forkedMessages: 10_000, stories: 40, races: 150 }
    : { waitingRuns: sizes.queuedRuns / 20, forkedMessages: 2000, stories: 5, races: 15 };
