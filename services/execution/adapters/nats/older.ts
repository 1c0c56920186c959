import { every } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import { isNoResponder, type NatsClient } from './client.ts';
import { subjectPrefix } from './streams.ts';

export interface OlderReplicasOptions {
  readonly client: NatsClient;
  readonly prefix: string;
  readonly logger: Log;
  /** How often they are looked for, in milliseconds. */
  readonly lookMs?: number;
}

/**
 * Whether replicas of the version before run beside this one: they cannot read events in parts. Needed as long as `old-events.ts`
 * of the protos is.
 */
export interface OlderReplicas extends AsyncDisposable {
  readonly areThere: () => boolean;
}

/** The roll of those that read events in parts. */
export const rollCallSubject = (prefix: string): string => `${subjectPrefix(prefix)}rollcall.parts`;

/** Every replica of the version before subscribes to this, whatever its role, and none of this version does. */
export const olderRollCallSubject = (prefix: string): string => `${subjectPrefix(prefix)}rollcall`;

const usualLookMs = 2000;
/** Only workers answer. From other replicas nothing comes, and the server does not say that nobody is subscribed either. */
const answerMs = 500;

/** Looks for them once before it resolves, and then again and again. Where it cannot be known, they are taken to be there. */
export async function watchOlderReplicas({
  client,
  prefix,
  logger,
  lookMs = usualLookMs,
}: OlderReplicasOptions): Promise<OlderReplicas> {
  const nothing = new Uint8Array(0);
  let areThere = true;

  const look = async (): Promise<void> => {
    const found = await client.request(olderRollCallSubject(prefix), nothing, { timeoutMs: answerMs }).then(
      () => true,
      (error: unknown) => !isNoResponder(error),
    );
    if (areThere && !found) logger.debug('all replicas read events in parts');
    areThere = found;
  };

  await look();
  const looking = every(lookMs, look, () => undefined);
  return { areThere: () => areThere, [Symbol.asyncDispose]: async () => looking[Symbol.asyncDispose]() };
}
