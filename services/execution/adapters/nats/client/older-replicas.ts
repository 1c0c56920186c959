import { every } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import { isNoResponder, type NatsClient } from './client.ts';
import { subjectPrefix } from './streams.ts';

interface OlderReplicasOptions {
  readonly client: NatsClient;
  readonly prefix: string;
  readonly log: Log;
  /** How often older replicas are looked for, in milliseconds. */
  readonly checkMs?: number;
}

/**
 * Whether replicas of the version before run beside this one. They cannot read events in parts. This is needed as long as
 * `old-events.ts` of the protos is.
 */
export interface OlderReplicas extends AsyncDisposable {
  readonly areThere: () => boolean;
}

/** The roll call of workers that read events in parts. */
export const rollCallSubject = (prefix: string): string => `${subjectPrefix(prefix)}rollcall.parts`;

/** Every replica of the version before subscribes to this subject, in any role, and no replica of this version does. */
const olderRollCallSubject = (prefix: string): string => `${subjectPrefix(prefix)}rollcall`;

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
  const nothing = new Uint8Array(0);
  let areThere = true;

  const check = async (): Promise<void> => {
    const found = await client.request(olderRollCallSubject(prefix), nothing, { timeoutMs: answerMs }).then(
      () => true,
      (error: unknown) => !isNoResponder(error),
    );
    if (areThere && !found) log.debug('all replicas read events in parts');
    areThere = found;
  };

  await check();
  const checks = every(checkMs, check, () => undefined);
  return { areThere: () => areThere, [Symbol.asyncDispose]: async () => checks[Symbol.asyncDispose]() };
}
