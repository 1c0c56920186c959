import type { AcceptRunReply, ClaimedRun } from '@agent-workflow/protos/threads';
import type { ThreadKey, ThreadStore } from '../ports/port.ts';

/** A claim without the bytes of its reply: the record has them elsewhere. */
export interface KeptClaim extends Omit<ClaimedRun, 'appended' | 'optionsJson' | 'progressJson' | 'state'> {
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

/** The claim as its worker was told of it, but for the state. Its fence keeps the rows as they were until that worker commits. */
export async function fromKeptClaim(
  store: ThreadStore,
  key: ThreadKey,
  { appended: ids, hasProgress, ...rest }: KeptClaim,
): Promise<ClaimedRun> {
  const [run, head] = await Promise.all([store.getRun(key.owner, rest.runId), store.getHead(key)]);
  const appended: ClaimedRun['appended'][number][] = [];
  for (const messageId of ids) {
    const json = await store.getMessage(key, messageId);
    if (json) appended.push({ messageId, json });
  }
  return {
    ...rest,
    appended,
    optionsJson: run?.options ?? new Uint8Array(),
    ...(hasProgress && head?.progress ? { progressJson: head.progress } : {}),
  };
}

export interface KeptAcceptance extends Omit<AcceptRunReply, 'claimed'> {
  readonly claimed?: KeptClaim;
}

export const toKeptAcceptance = ({ claimed, ...reply }: AcceptRunReply): KeptAcceptance => ({
  ...reply,
  ...(claimed && { claimed: toKeptClaim(claimed) }),
});

export async function fromKeptAcceptance(
  store: ThreadStore,
  key: ThreadKey,
  { claimed, ...reply }: KeptAcceptance,
): Promise<AcceptRunReply> {
  return { ...reply, ...(claimed && { claimed: await fromKeptClaim(store, key, claimed) }) };
}
