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

/** A message, as a continuation holds it. */
export interface HeldMessage {
  readonly message_id: string;
}

/**
 * The messages that a step holds whose nodes have not all returned, without those that may replace others; `undefined` where nothing is
 * held, and where it cannot be read. A new message of a user ends such a step: they enter the log before it.
 */
export function heldMessages(progressJson: Uint8Array | undefined): readonly HeldMessage[] | undefined {
  if (!progressJson || !Buffer.from(progressJson).includes('"held":')) return undefined;
  try {
    const held = heldIn(memberOf(JSON.parse(Buffer.from(progressJson).toString()), 'carry'));
    const outputs = held.flatMap((one) => listOf(memberOf(one, 'outputs')));
    const messages = outputs.flatMap((one) =>
      memberOf(one, 'mayReplace') === false ? listOf(memberOf(one, 'messages')) : [],
    );
    return held.length > 0 && messages.every(isMessage) ? messages : undefined;
  } catch {
    return undefined;
  }
}

/** What a continuation holds, and those of its sub-graphs and branches. */
const heldIn = (continuation: unknown): readonly unknown[] => [
  ...listOf(memberOf(continuation, 'held')),
  ...valuesOf(memberOf(continuation, 'graphs')).flatMap((position) => heldIn(memberOf(position, 'carry'))),
  ...valuesOf(memberOf(continuation, 'branches'))
    .flatMap(listOf)
    .flatMap((branch) => [memberOf(branch, 'held') ?? [], heldIn(memberOf(branch, 'at'))].flat()),
];

/**
 * The same without the deadlines of its open questions, and the defaults that they lead to: the questions wait until they are answered.
 * What cannot be read stays as it is.
 */
export function withoutDeadlines(progressJson: Uint8Array): Uint8Array {
  if (!Buffer.from(progressJson).includes('"deadline":')) return progressJson;
  try {
    const progress: unknown = JSON.parse(Buffer.from(progressJson).toString());
    dropDeadlines(memberOf(progress, 'carry'));
    return Buffer.from(JSON.stringify(progress));
  } catch {
    return progressJson;
  }
}

function dropDeadlines(continuation: unknown): void {
  for (const asking of listOf(memberOf(continuation, 'asking'))) {
    const open = memberOf(asking, 'open') as { deadline?: unknown; default?: unknown } | undefined;
    delete open?.deadline;
    delete open?.default;
  }
  for (const position of valuesOf(memberOf(continuation, 'graphs'))) dropDeadlines(memberOf(position, 'carry'));
  for (const branch of valuesOf(memberOf(continuation, 'branches')).flatMap(listOf))
    dropDeadlines(memberOf(branch, 'at'));
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const valuesOf = (value: unknown): readonly unknown[] =>
  typeof value === 'object' && value !== null ? Object.values(value) : [];

/** A worker of a pool can leave anything on record. */
const isMessage = (value: unknown): value is HeldMessage => {
  const id = memberOf(value, 'message_id');
  return typeof id === 'string' && id !== '';
};
