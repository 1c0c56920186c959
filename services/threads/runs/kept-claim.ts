import type { AcceptRunReply, ClaimedRun } from '@agent-workflow/protos/threads';
import type { ThreadKey } from '../ports/record.ts';
import type { ThreadReads } from '../ports/reads.ts';

/** A claim without the binary values of its reply, which are read from the record again. */
interface KeptClaim extends Omit<ClaimedRun, 'appended' | 'optionsJson' | 'progressJson' | 'state'> {
  /** Ids of messages. */
  readonly appended: readonly string[];
  readonly hasProgress: boolean;
}

/** Nothing is kept of a claim that another agent, or another revision, has to make. */
export const toKeptClaim = (claimed: ClaimedRun): KeptClaim | undefined =>
  claimed.otherAgent === undefined && claimed.otherRevision === undefined ? keptOf(claimed) : undefined;

const keptOf = ({ appended, optionsJson: _, progressJson, state: _state, ...rest }: ClaimedRun): KeptClaim => ({
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

/** Nothing is kept of a run that was not accepted, because the thread belongs to another agent. */
export const toKeptAcceptance = ({ claimed, ...reply }: AcceptRunReply): KeptAcceptance | undefined =>
  reply.otherAgent === undefined ? { ...reply, ...(claimed && { claimed: keptOf(claimed) }) } : undefined;

export async function fromKeptAcceptance(
  store: ThreadReads,
  key: ThreadKey,
  { claimed, ...reply }: KeptAcceptance,
): Promise<AcceptRunReply> {
  return { ...reply, ...(claimed && { claimed: await fromKeptClaim(store, key, claimed) }) };
}
