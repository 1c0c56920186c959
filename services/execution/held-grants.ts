import { isServiceError, ServiceError, stale } from '@agent-workflow/kit/errors';
import { createFirstOfKind } from '@agent-workflow/kit/first-of-kind';
import type { Log } from '@agent-workflow/kit/log';
import { requestContext } from '@agent-workflow/kit/request-context';
import { within, type Call } from '@agent-workflow/protos/call';
import type { Memory } from '@agent-workflow/protos/memory';
import type { RunClaim } from '@agent-workflow/protos/run-files';
import type { RunGrant, Threads } from '@agent-workflow/protos/threads';
import { LRUCache } from 'lru-cache';

/** The grants of the runs that a worker of a pool has claimed. */
interface HeldGrants {
  /** The same services: a call that is made for a claimed run shows its grant, which is renewed before it expires. */
  readonly bind: (services: Services) => BoundServices;
  /** The run is not driven here any more. Its grant is still shown where something is left to be done. */
  readonly driven: (owner: string, runId: string) => void;
}

interface Services {
  readonly threads: Threads;
  readonly memory: Memory;
}

interface BoundServices extends Services {
  /**
   * The grant of a claimed run, for the files of its owner.
   * @throws Stale when the run is no longer this worker's, Unavailable while the record is.
   */
  readonly tokenOf: (claim: RunClaim) => Promise<string>;
}

interface Held {
  readonly owner: string;
  readonly threadId: string;
  readonly runId: string;
  readonly epoch: number;
  grant: RunGrant;
  /** By a clock that only rises, in milliseconds. */
  since: number;
  renewal: Promise<void> | undefined;
}

/** The share of its time after which a grant is renewed. */
const renewedAfter = 0.5;
const callTimeoutMs = 30_000;
/** Runs whose grants are kept when they are not driven any more. */
const remembered = 10_000;
/** Kinds of refusal whose last line in the log is remembered, and after how long one is logged again: nodes wait for the end of a refusal. */
const rememberedRefusals = 100;
const silentMs = 10 * 60_000;

const keyOf = (owner: string, runId: string): string => JSON.stringify([owner, runId]);

/** A refusal is logged with its reason, each once in ten minutes; the error that the run gets has none. */
export function createHeldGrants({
  log,
  elapsed = () => performance.now(),
}: {
  readonly log: Log;
  readonly elapsed?: () => number;
}): HeldGrants {
  /** No more than there are slots: those of the others are in `left`. */
  const active = new Map<string, Held>();
  const left = new LRUCache<string, Held>({ max: remembered });
  const isFirst = createFirstOfKind({ silentMs, max: rememberedRefusals });

  const ageOf = ({ grant, since }: Held): number => (elapsed() - since) / grant.forMs;

  const renew = async (threads: Threads, held: Held): Promise<void> => {
    const { owner, threadId, runId, epoch, grant } = held;
    const at = elapsed();
    const reply = await threads.renewGrant(
      { owner, threadId, runId, epoch },
      { ...within(callTimeoutMs), grant: grant.token },
    );
    if (reply.grant) [held.grant, held.since] = [reply.grant, at];
  };

  /** A grant that is good. @throws Stale when the run is no longer this worker's, Unavailable while the record is. */
  const grantFor = async (threads: Threads, held: Held): Promise<string> => {
    if (ageOf(held) >= renewedAfter) {
      held.renewal ??= renew(threads, held).finally(() => (held.renewal = undefined));
      await held.renewal.catch((error: unknown) => {
        // A run that has just ended may have something left to be done: until its grant expires.
        if (ageOf(held) >= 1) throw error;
      });
    }
    return held.grant.token;
  };

  const heldFor = (request: Named): Held | undefined => {
    const runId = request.runId ?? requestContext().runId;
    if (request.owner === undefined || runId === undefined) return undefined;
    const key = keyOf(request.owner, runId);
    return active.get(key) ?? left.get(key);
  };

  const note = (owner: string, claimed: Awaited<ReturnType<Threads['claimRun']>>, since: number): void => {
    const { threadId, runId, epoch, grant, givenUp } = claimed;
    if (!grant) return;
    const held: Held = { owner, threadId, runId, epoch, grant, since, renewal: undefined };
    const key = keyOf(owner, runId);
    if (givenUp) left.set(key, held);
    else active.set(key, held);
  };

  const refused = (method: string, error: ServiceError): ServiceError => {
    if (isFirst(`${method} ${error.message}`))
      log.error({ method, why: error.message }, 'a call was refused: this pool may not make it');
    return new ServiceError('PermissionDenied', 'a call of the worker was not allowed', { cause: error });
  };

  const withGrants = <S extends object>(context: string, service: S, threads: Threads): S => {
    const methods = Object.entries(service).map(([name, method]: [string, AnyMethod]): [string, AnyMethod] => [
      name,
      async (request, call) => {
        try {
          const held = heldFor(request);
          return await method(request, held ? { ...call, grant: await grantFor(threads, held) } : call);
        } catch (error) {
          throw isServiceError(error, 'PermissionDenied') ? refused(`${context}.${name}`, error) : error;
        }
      },
    ]);
    return Object.fromEntries(methods) as S;
  };

  return {
    bind: ({ threads, memory }) => ({
      threads: {
        ...withGrants('threads', threads, threads),
        claimRun: async (request, call) => {
          const since = elapsed();
          const claimed = await threads.claimRun(request, call);
          note(request.owner, claimed, since);
          return claimed;
        },
      },
      memory: withGrants('memory', memory, threads),
      tokenOf: async (claim) => {
        const held = heldFor(claim);
        if (held?.epoch !== claim.epoch) throw stale(`another worker has run "${claim.runId}", or it has ended`);
        return grantFor(threads, held);
      },
    }),

    driven: (owner, runId) => {
      const key = keyOf(owner, runId);
      const held = active.get(key);
      if (!held) return;
      active.delete(key);
      left.set(key, held);
    },
  };
}

interface Named {
  readonly owner?: string;
  readonly runId?: string;
}

/** No method of the two services streams. */
type AnyMethod = (request: Named, call: Call) => Promise<object>;
