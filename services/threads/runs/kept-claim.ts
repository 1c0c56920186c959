import type { AcceptRunReply, ClaimedRun } from '@agent-workflow/protos/threads';
import type { ThreadKey } from '../ports/record.ts';
import type { ThreadReads } from '../ports/reads.ts';

/** A claim without the binary values of its reply, which are read from the record again. */
interface KeptClaim extends Omit<ClaimedRun, 'appended' | 'optionsJson' | 'progressJson' | 'state'> {
  /** Ids of messages. */
  readonly appended: readonly string[];
  readonly hasProgress: boolean;
}

export const toKeptClaim = ({
  appended,
  optionsJson: _,
  progressJson,
  state: _state,
  ...rest
}: ClaimedRun): KeptClaim => ({
  ...rest,
  appended: appended.map(({ messageId }) => messageId),
  hasProgress: progressJson !== undefined,
});

/** The reply to the claim without the state. The fence keeps the rows unchanged until the claiming worker commits. */
export async function fromKeptClaim(
  store: ThreadReads,
  key: ThreadKey,
  { appended: ids, hasProgress, ...rest }: KeptClaim,
): Promise<ClaimedRun> {
  const [run, head] = await Promise.all([store.getRun(key.owner, rest.runId), store.getHead(key)]);
  const appended: ClaimedRun['appended'][number][] = [];
  for (const messageId of ids) {
    const message = await store.getMessage(key, messageId);
    if (message) appended.push({ messageId, json: message.json });
  }
  return {
    ...rest,
    appended,
    optionsJson: run?.options ?? new Uint8Array(),
    ...(hasProgress && head?.progress ? { progressJson: head.progress } : {}),
  };
}

interface KeptAcceptance extends Omit<AcceptRunReply, 'claimed'> {
  readonly claimed?: KeptClaim;
}

export const toKeptAcceptance = ({ claimed, ...reply }: AcceptRunReply): KeptAcceptance => ({
  ...reply,
  ...(claimed && { claimed: toKeptClaim(claimed) }),
});

export async function fromKeptAcceptance(
  store: ThreadReads,
  key: ThreadKey,
  { claimed, ...reply }: KeptAcceptance,
): Promise<AcceptRunReply> {
  return { ...reply, ...(claimed && { claimed: await fromKeptClaim(store, key, claimed) }) };
}
