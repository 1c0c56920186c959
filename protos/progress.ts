import type { Message } from './message/message.ts';

/** How many times each node has run in its run: `visits` of the `progress_json` of every commit that does not end the run. */
export type Visits = Readonly<Record<string, number>>;

/**
 * The iterations of `progress_json`: the largest number of times that any one node ran. 0 where it has no visits, and where it cannot be
 * read: runs are ended and threads are deleted by this number, whatever a worker has left on record.
 */
export function iterationsIn(progressJson: Uint8Array | undefined): number {
  if (!progressJson) return 0;
  try {
    const { visits } = JSON.parse(Buffer.from(progressJson).toString()) as { readonly visits?: Visits };
    return Math.max(0, ...Object.values(visits ?? {}).filter(Number.isSafeInteger));
  } catch {
    return 0;
  }
}

/** What a continuation in `progress_json` holds of a step whose nodes have not all returned, as far as the record reads it. */
interface StoredContinuation {
  readonly held?: readonly StoredHeld[];
  readonly graphs?: Readonly<Record<string, { readonly carry?: StoredContinuation }>>;
  readonly branches?: Readonly<
    Record<string, readonly { readonly held?: StoredHeld; readonly at?: StoredContinuation }[]>
  >;
}

interface StoredHeld {
  readonly outputs: readonly { readonly messages: readonly Message[]; readonly mayReplace: boolean }[];
}

/**
 * The messages that a step holds, without those that may replace others; `undefined` where nothing is held, and where it cannot be read.
 * A new message of a user ends such a step: they enter the log before it.
 */
export function heldMessages(progressJson: Uint8Array | undefined): readonly Message[] | undefined {
  if (
    !progressJson ||
    !Buffer.from(progressJson.buffer, progressJson.byteOffset, progressJson.byteLength).includes(mark)
  )
    return undefined;
  try {
    const { carry } = JSON.parse(Buffer.from(progressJson).toString()) as { readonly carry?: StoredContinuation };
    const held = heldIn(carry);
    const outputs = held.flatMap((one) => one.outputs);
    const messages = outputs.flatMap((output) => (output.mayReplace ? [] : output.messages));
    return held.length > 0 && messages.every(isMessage) ? messages : undefined;
  } catch {
    return undefined;
  }
}

const mark = '"held":';

const heldIn = ({ held = [], graphs = {}, branches = {} }: StoredContinuation = {}): readonly StoredHeld[] => [
  ...held,
  ...Object.values(graphs).flatMap(({ carry }) => heldIn(carry)),
  ...Object.values(branches)
    .flat()
    .flatMap(({ held: own, at }) => [...(own ? [own] : []), ...heldIn(at)]),
];

/** A worker of a pool can leave anything on record. */
const isMessage = (message: unknown): boolean =>
  typeof message === 'object' &&
  message !== null &&
  'message_id' in message &&
  typeof message.message_id === 'string' &&
  message.message_id !== '';
