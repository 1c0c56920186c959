import { isServiceError, unavailable } from '@agent-workflow/kit/errors';
import { createKeyedLock } from '@agent-workflow/kit/keyed-lock';
import { backoffMs, pause, retry, type Backoff } from '@agent-workflow/kit/retry';
import type { Decision, Reads, Snapshot, ThreadChanges } from '../../../ports/changes.ts';
import type { ThreadKey } from '../../../ports/record.ts';
import type { Session, Statement } from '../client/client.ts';
import { plan, type Plan, type PlanOptions } from './plan.ts';
import type { Recent } from './recent.ts';
import { stampsKept, type Seen } from '../rows/rows.ts';
import { readSight, nothingSeen, type Sight } from './snapshot.ts';

interface ChangeOptions extends PlanOptions {
  readonly session: Session;
  readonly inLine: InLine;
  readonly recent: Recent;
  /** How long one change is tried, in milliseconds. */
  readonly deadlineMs: number;
  /** Starts reading what `before` will need. It never rejects. */
  readonly ahead: (key: ThreadKey, reads: Reads) => Ahead;
  /** Writes to other tables before the change: rows there may stand without their thread, not the other way round. */
  readonly before: (key: ThreadKey, plan: Plan, ahead: Ahead) => Promise<void>;
  /** Called after the change was written. */
  readonly after: (key: ThreadKey, plan: Plan) => Promise<void>;
}

/** Which thread a run is of that the change may make, as far as that was read beforehand; `undefined` where it was not. */
export type Ahead = Promise<{ readonly runId: string; readonly threadId: string | undefined } | undefined>;

/** What a decision came to, with its plan when it wrote something. */
interface Made<T> {
  readonly reply: T;
  readonly plan?: Plan;
}

/** Makes changes of threads, each one conditional batch that is tried again while another write came first. */
export function createMakeChange(options: ChangeOptions): ThreadChanges['change'] {
  const { session, inLine, recent, deadlineMs } = options;

  const tryChange = async <T>(given: Try<T>): Promise<Made<T> | undefined> => {
    const { key, reads, decide, sight, attempts, ahead } = given;
    const { seen, snapshot, isSteady } = sight;
    const decision = conclude(() => decide(snapshot), isSteady);
    if (!decision?.change) {
      if (!isSteady) recent.drop(key, false);
      return isSteady ? decision : undefined;
    }
    const { change } = decision;
    const planned = plan({ key, seen, knownRuns: snapshot.runs, change }, options);
    const made = { reply: decision.reply, plan: planned };
    await options.before(key, planned, ahead);
    const outcome = await tryBatch(session, planned.batch);
    if (outcome === 'unknown') attempts.add({ stamp: planned.stamp, seen: seen.stamp, attempt: made });
    if (outcome !== 'applied') {
      recent.drop(key, outcome === 'refused');
      return undefined;
    }
    recent.keep(key, { sight, reads, change, plan: planned });
    return made;
  };

  const make = async <T>(key: ThreadKey, reads: Reads, decide: Decide<T>, until: number): Promise<Made<T>> => {
    const attempts = createAttempts<Made<T>>();
    let isSerial = reads.fields === 'all' || reads.undosOfActiveRun !== undefined;
    const ahead = options.ahead(key, reads);
    for (let tries = 1; ; tries += 1) {
      const guess = tries > 1 ? undefined : reads.isNewThread === true ? nothingSeen : recent.recall(key, reads);
      const sight = guess ?? (await persist(() => readSight(session, key, reads, isSerial), attempts, until));
      const made = attempts.settle(sight.seen) ?? (await tryChange({ key, reads, decide, sight, attempts, ahead }));
      if (made) return made;
      isSerial = true;
      await pauseBetweenTries(tries, until);
    }
  };

  return async (key, reads, decide) => {
    const until = Date.now() + deadlineMs;
    return inLine(key, async () => {
      const { reply, plan: written } = await make(key, reads, decide, until);
      if (written) await options.after(key, written);
      return reply;
    });
  };
}

type Decide<T> = (snapshot: Snapshot) => Decision<T>;

interface Try<T> {
  readonly key: ThreadKey;
  readonly reads: Reads;
  readonly decide: Decide<T>;
  readonly sight: Sight;
  readonly attempts: Attempts<Made<T>>;
  readonly ahead: Ahead;
}

/** What is decided; `undefined` when it is a refusal on grounds that may not be of one moment. */
function conclude<T>(decide: () => T, isSteady: boolean): T | undefined {
  try {
    return decide();
  } catch (error) {
    if (isSteady) throw error;
    return undefined;
  }
}

/** A batch without an answer may have been written, or may yet be. */
export async function tryBatch(
  session: Session,
  batch: readonly Statement[],
): Promise<'applied' | 'refused' | 'unknown'> {
  try {
    const { isApplied } = await session.writeIf(...batch);
    return isApplied ? 'applied' : 'refused';
  } catch (error) {
    if (isServiceError(error, 'Unavailable')) return 'unknown';
    throw error;
  }
}

interface Attempt<A> {
  readonly stamp: string;
  /** The stamp that it was to replace. */
  readonly seen: string | undefined;
  readonly attempt: A;
}

/** Attempts whose outcome is unknown. */
interface Attempts<A> {
  readonly add: (attempt: Attempt<A>) => void;
  readonly areOpen: () => boolean;
  /**
   * Finds the attempt that was written: the present head has the stamps of the latest changes. An attempt whose place another
   * change took can never be written any more, and is dropped.
   * @throws Unavailable when the head does not decide it: too many changes came since, or the thread was removed.
   */
  readonly settle: (now: Seen) => A | undefined;
}

function createAttempts<A>(): Attempts<A> {
  let open: Attempt<A>[] = [];
  return {
    add: (attempt) => void open.push(attempt),
    areOpen: () => open.length > 0,
    settle: (now) => {
      const stamps = now.stamp === undefined ? [] : [now.stamp, ...now.past];
      const written = open.find(({ stamp }) => stamps.includes(stamp));
      if (written) return written.attempt;
      open = open.filter(({ seen }) => {
        if (seen === now.stamp) return true;
        const isWholeStory =
          seen === undefined ? stamps.length <= stampsKept && stamps.length > 0 : stamps.includes(seen);
        if (!isWholeStory) throw unavailable('whether the change was written is not known');
        return false;
      });
      return undefined;
    },
  };
}

/** Repeats a failed reading while an attempt is open, because its outcome must be known. */
async function persist<T>(
  read: () => Promise<T>,
  attempts: Pick<Attempts<unknown>, 'areOpen'>,
  until: number,
): Promise<T> {
  return retry(read, {
    ...betweenTries,
    deadline: until,
    mayHelp: (error) => attempts.areOpen() && isServiceError(error, 'Unavailable'),
  });
}

/** The waits between attempts: wholly random, so that two writers that collided do not collide again. */
export const betweenTries: Backoff = { firstMs: 10, maxMs: 250, jitter: 1 };

/** Waits before the next attempt. @throws Unavailable when the wait would pass the deadline. */
export async function pauseBetweenTries(tries: number, until: number): Promise<void> {
  const ms = backoffMs(betweenTries, tries);
  if (Date.now() + ms > until) throw unavailable('the record of threads did not take the change in time');
  await pause(ms);
}

/** Runs the changes of one thread one after another: at the same time they would only make each other try again. */
export type InLine = <T>(key: ThreadKey, work: () => Promise<T>) => Promise<T>;

export function createLines(): InLine {
  const lock = createKeyedLock();
  return (key, work) => lock(JSON.stringify([key.owner, key.threadId]), work);
}
