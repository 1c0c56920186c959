import { every } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import { isNoResponder, type NatsClient } from './client.ts';
import { subjectPrefix } from './names.ts';

interface OlderReplicasOptions {
  readonly client: NatsClient;
  readonly prefix: string;
  readonly log: Log;
  /** How often older replicas are looked for, in milliseconds. */
  readonly checkMs?: number;
}

/**
 * Which replicas of earlier versions run beside this one. This is needed as long as `old-events.ts` of the protos is.
 */
export interface OlderReplicas extends AsyncDisposable {
  /** Whether replicas are there that cannot read events in parts. */
  readonly areThere: () => boolean;
  /** Whether replicas are there that know no logs below an agent, but only those below a shard. */
  readonly readByShard: () => boolean;
}

/** Every replica of a version subscribes to the roll call of that version, in any role, and replicas of other versions do not. */
const withoutParts = (prefix: string): string => `${subjectPrefix(prefix)}rollcall`;
const withoutAgents = (prefix: string): string => `${subjectPrefix(prefix)}rollcall.parts`;

const usualCheckMs = 2000;
/** Only workers answer. Other replicas of that version stay silent, but they are subscribers, so the server reports none missing. */
const answerMs = 500;

/** Looks for older replicas once before it resolves, then at an interval. Where it is not known, they count as there. */
export async function watchOlderReplicas({
  client,
  prefix,
  log,
  checkMs = usualCheckMs,
}: OlderReplicasOptions): Promise<OlderReplicas> {
  let lackParts = true;
  let lackAgents = true;

  const hasSubscriber = async (subject: string): Promise<boolean> =>
    client.request(subject, nothing, { timeoutMs: answerMs }).then(
      () => true,
      (error: unknown) => !isNoResponder(error),
    );

  const check = async (): Promise<void> => {
    const [areFirst, areSecond] = await Promise.all([
      hasSubscriber(withoutParts(prefix)),
      hasSubscriber(withoutAgents(prefix)),
    ]);
    if (lackParts && !areFirst) log.debug('all replicas read events in parts');
    lackParts = areFirst;
    lackAgents = areFirst || areSecond;
  };

  await check();
  const checks = every(checkMs, check, () => undefined);
  return {
    areThere: () => lackParts,
    readByShard: () => lackAgents,
    [Symbol.asyncDispose]: async () => checks[Symbol.asyncDispose](),
  };
}

const nothing = new Uint8Array(0);
