import { otherText } from './agents/generated-graphs.ts';

type Block = Readonly<Record<string, unknown>> & { readonly type: string };

export interface StoredMessage {
  readonly message_id: string;
  readonly role: string;
  readonly content: readonly Block[];
}

/** What is read of a chunk of a stream. */
interface StreamedChunk {
  readonly event: string;
  readonly data: unknown;
  readonly message?: unknown;
  readonly metadata: { readonly message_id?: string };
}

/** The ids of the messages of which a stream has chunks. */
export const publishedIn = (chunks: readonly StreamedChunk[]): readonly string[] =>
  chunks.flatMap(({ metadata: { message_id: id } }) => id ?? []);

/** The whole messages of a stream, in its order. */
export const closingsOf = (chunks: readonly StreamedChunk[]): readonly StoredMessage[] =>
  chunks.flatMap(({ message }) => (message ? [message as StoredMessage] : []));

const textOf = ({ content }: StoredMessage): string =>
  content.map(({ type, text }) => (type === 'text' ? String(text) : '')).join('');

/** The ids of the messages that the node of this message saw. */
const sawIn = (message: StoredMessage): readonly string[] => /\[(.*?)\]/.exec(textOf(message))?.[1]?.split(',') ?? [];

/** The ids that generated graphs give to messages. Their chunks wait for the commit, because another attempt would publish them again. */
const authorIds = ['a', 'b'];

/**
 * Checks the stream of one run of a generated graph: the chunks of each message are its text and its blocks, nothing of it follows its end
 * unless a later step replaces it, and what a node saw is published before what it says. `earlier` holds the ids of what runs before it
 * published, whose messages it may replace.
 * @throws Error that says what is wrong.
 */
export function checkStream(chunks: readonly StreamedChunk[], earlier: ReadonlySet<string> = new Set()): void {
  const open = new Map<string, { text: string; readonly blocks: Block[] }>();
  const first = new Map<string, number>();
  const ended = new Set<string>();
  for (const [index, { event, data, message, metadata }] of chunks.entries()) {
    const { message_id: id } = metadata;
    if (event !== 'messages_chunk' || id === undefined) continue;
    const own = open.get(id) ?? { text: '', blocks: [] };
    open.set(id, own);
    if (!message) {
      first.set(id, first.get(id) ?? index);
      if (typeof data === 'string') own.text += data;
      else own.blocks.push(data as Block);
      continue;
    }
    checkWhole(message as StoredMessage, own);
    ended.add(id);
    open.delete(id);
  }
  for (const message of closingsOf(chunks)) {
    const at = first.get(message.message_id) ?? Infinity;
    if (authorIds.includes(message.message_id)) continue;
    const isLate = (id: string): boolean => ended.has(id) && (first.get(id) ?? 0) > at;
    const late = sawIn(message).find((id) => !authorIds.includes(id) && !earlier.has(id) && isLate(id));
    if (late !== undefined) throw new Error(`${late} is published after what "${textOf(message)}" says of it`);
  }
}

function checkWhole(
  message: StoredMessage,
  { text, blocks }: { readonly text: string; readonly blocks: readonly Block[] },
): void {
  const whole = textOf(message);
  if (!whole.startsWith(otherText) && text !== whole) throw new Error(`"${text}" is not the text "${whole}"`);
  const expected = JSON.stringify(message.content.filter(({ type }) => type !== 'text'));
  if (!whole.startsWith(otherText) && JSON.stringify(blocks) !== expected)
    throw new Error(`${JSON.stringify(blocks)} are not the blocks ${expected}`);
}

/**
 * Checks that the messages which the runs of a thread added end in the order of the thread, each once but for those that are replaced later.
 * @throws Error that says what is wrong.
 */
export function checkThread(closings: readonly StoredMessage[], thread: readonly StoredMessage[]): void {
  const ids = closings.map(({ message_id: id }) => id);
  const order = [...new Set(ids)];
  const added = thread.map(({ message_id: id }) => id).filter((id) => order.includes(id));
  if (order.join() !== added.join())
    throw new Error(`messages end in the order ${order.join()}, not in ${added.join()}`);
  const newest = new Map(closings.map((message) => [message.message_id, message]));
  for (const { message_id: id, content } of thread) {
    const whole = newest.get(id);
    if (whole && JSON.stringify(whole.content) !== JSON.stringify(content))
      throw new Error(`${id} ends as another message`);
  }
}

/** The calls of remote tools that nobody has answered. */
export function openCallsIn(thread: readonly StoredMessage[]): readonly string[] {
  const blocks = thread.flatMap(({ content }) => content);
  const answered = new Set(blocks.filter(({ type }) => type === 'tool_result').map((block) => block['call_id']));
  const calls = blocks.filter(({ type, id }) => type === 'remote_tool_call' && !answered.has(id));
  return calls.map(({ id }) => String(id));
}
