import { RequestError } from '@agent-workflow/client';
import { effect, signal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { useRefresh } from './refresh.ts';
import { route } from './route.ts';
import { signInReason, token } from './session.ts';
import { readWaiting } from './waiting-page.ts';

/** How many threads and questions wait for the reader. */
interface WaitingCount {
  readonly count: number;
  /** Whether there are more than one page has. */
  readonly isAtLeast: boolean;
}

/** Where the newest count of this tab is kept: a page that is loaded again shows it until it knows better. */
const countKey = 'waiting';

function readKept(): WaitingCount | undefined {
  const count = Number(sessionStorage.getItem(countKey));
  return Number.isSafeInteger(count) && count > 0 ? { count, isAtLeast: false } : undefined;
}

const counted = signal<WaitingCount | undefined>(readKept());
effect(() => {
  try {
    sessionStorage.setItem(countKey, String(counted.value?.count ?? 0));
  } catch {
    // A tab that keeps nothing more shows the count once it is read.
  }
});

/** What waits for a person, as far as it is known: counted by the service, or seen by the view that lists it. */
export const waitingCount: ReadonlySignal<WaitingCount | undefined> = counted;

/** A view has read all that waits. */
export function noteWaiting(count: number): void {
  if (counted.peek()?.count !== count) counted.value = { count, isAtLeast: false };
}

const turn = signal(0);

/** A run has begun or ended, which may have answered or asked: it is counted again. */
export function countAgain(): void {
  turn.value++;
}

/** How often it is counted, in milliseconds; the inbox itself is read more often. */
const countMs = 30_000;

/**
 * Counts what waits for a person: when the page appears, when another thing is opened, when a run that the chat follows begins or ends, and
 * every half minute while the page is in sight.
 * What the inbox lists first is counted; who may not read it sees none, and is not asked for again.
 */
export function useWaitingCount(): void {
  const refused = useRef<string | undefined>(undefined);
  const lifetime = useRef<AbortController | undefined>(undefined);
  const count = (): void => {
    const { signal } = (lifetime.current = replaced(lifetime.current));
    if (signInReason.peek() !== undefined || refused.current === token.peek()) return;
    readWaiting(undefined, signal).then(
      ({ own, foreign, hasMore }) => {
        if (!signal.aborted) counted.value = { count: own.length + foreign.length, isAtLeast: hasMore };
      },
      (error: unknown) => {
        if (!signal.aborted && error instanceof RequestError && error.status === 403) refused.current = token.peek();
      },
    );
  };
  const asked = useRef(token.value);
  const { view, id } = route.value;
  useEffect(() => {
    // What another person has to answer is not theirs.
    if (asked.current !== token.value) counted.value = undefined;
    asked.current = token.value;
    // The inbox counts by itself.
    if (view !== 'inbox') count();
    return () => lifetime.current?.abort();
  }, [view, id, token.value, turn.value]);
  useRefresh(() => {
    if (route.peek().view !== 'inbox') count();
  }, countMs);
}

/** Ends what was asked before: its answer would come late. */
function replaced(before: AbortController | undefined): AbortController {
  before?.abort();
  return new AbortController();
}
