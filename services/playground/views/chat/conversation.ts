import type { Block, Interrupt, Message, RemoteCall, Run, RunEvent, RunResult, Usage } from '@agent-workflow/client';
import { remoteCallsIn } from '@agent-workflow/client';

/** A message on the page: one of the log, or one that a run is streaming. It changes in place, and `revision` with it. */
export interface Entry {
  readonly id: string;
  readonly role: Message['role'];
  blocks: readonly Block[];
  timestamp: string;
  /** The checkpoint of the step that committed it, where the service says so. */
  checkpointId: string | undefined;
  /** `streaming` until its end has come; `dropped` when its step was given up before. */
  state: 'streaming' | 'whole' | 'dropped';
  /** The run, step and node that stream it. */
  readonly origin?: Origin;
  /** The questions that came after it and were answered on this page: the record does not give answers. */
  answered?: readonly AnsweredQuestion[];
  revision: number;
}

export interface AnsweredQuestion {
  readonly interrupt: Interrupt;
  readonly answer: unknown;
}

interface Origin {
  readonly runId: string;
  readonly step: unknown;
  readonly node: unknown;
}

/** What is known of the run that is followed, or of the newest one. */
export interface RunState {
  readonly runId: string;
  readonly status: Run['status'];
  readonly wakeAt?: string;
  readonly usage?: Usage;
  readonly error?: { readonly code: string; readonly message: string; readonly node?: string };
  readonly interrupts?: readonly Interrupt[];
  /** The open calls of tools that run where the reader is. */
  readonly calls?: readonly RemoteCall[];
  readonly iterations?: number;
  readonly isLimitReached?: boolean;
  /** The nodes that have begun a step, by the newest of them. */
  readonly node?: string;
  /** How often a step ran again, after a failure or a crash. */
  readonly restarts: number;
  /** What the run has changed, at granularity `partial` and `full`. */
  readonly state?: Readonly<Record<string, unknown>>;
  readonly summary?: string;
}

/** The messages of a thread in their order, and its run. Events change it in place: a chunk costs the same however long it is. */
export interface Conversation {
  readonly entries: Entry[];
  readonly byId: Map<string, Entry>;
  /** The names of tools by the ids of their calls. */
  readonly calls: Map<string, string>;
  /** The messages after which questions were asked, by the ids of the questions. */
  readonly places: Map<string, Entry>;
  run: RunState | undefined;
}

export const emptyConversation = (): Conversation => ({
  entries: [],
  byId: new Map(),
  calls: new Map(),
  places: new Map(),
  run: undefined,
});

/** A message as lists give it: most name the checkpoint that they came with. */
export type LoggedMessage = Message & { readonly checkpoint_id?: string };

const toEntry = (message: LoggedMessage): Entry => ({
  id: message.message_id,
  role: message.role,
  blocks: withThoughtsJoined(message.content),
  timestamp: message.timestamp,
  checkpointId: message.checkpoint_id,
  state: 'whole',
  revision: 0,
});

/** Puts the whole message in the place of what is there. */
function replace(conversation: Conversation, entry: Entry, message: LoggedMessage): void {
  entry.blocks = withThoughtsJoined(message.content);
  entry.timestamp = message.timestamp;
  entry.checkpointId = message.checkpoint_id ?? entry.checkpointId;
  entry.state = 'whole';
  entry.revision++;
  noteCalls(conversation, message.content);
}

function noteCalls({ calls }: Conversation, blocks: readonly Block[]): void {
  for (const block of blocks) {
    if (block.type === 'tool_call' || block.type === 'remote_tool_call')
      calls.set(String(block['id']), String(block['name']));
  }
}

/** Notes after which message the open questions stand. One that is asked again by a later run keeps its place. */
export function placeQuestions({ run, entries, places }: Conversation): void {
  const last = entries.at(-1);
  for (const { id } of run?.interrupts ?? []) if (last && !places.has(id)) places.set(id, last);
}

/** Notes the answers to open questions, by their ids, at the messages after which they stand. */
export function noteAnswers({ places }: Conversation, interrupts: readonly Interrupt[], answers: unknown): void {
  const given = new Map(Object.entries(answers as Readonly<Record<string, unknown>>));
  for (const interrupt of interrupts) {
    const entry = places.get(interrupt.id);
    if (!entry || !given.has(interrupt.id)) continue;
    entry.answered = [...(entry.answered ?? []), { interrupt, answer: given.get(interrupt.id) }];
    entry.revision++;
  }
}

/** Takes all messages away: they are read anew. */
export function clearEntries({ entries, byId, places }: Conversation): void {
  entries.length = 0;
  byId.clear();
  places.clear();
}

/** Adds a page of the log in front of all that is there. What is there already stays where it is. */
export function prependPage(conversation: Conversation, messages: readonly LoggedMessage[]): void {
  const fresh = messages.filter(({ message_id: id }) => !conversation.byId.has(id)).map(toEntry);
  for (const entry of fresh) {
    conversation.byId.set(entry.id, entry);
    noteCalls(conversation, entry.blocks);
  }
  conversation.entries.unshift(...fresh);
}

/** Brings consecutive messages of the log in: known ones in their places, others after the one before them, or at the end. */
export function mergePage(conversation: Conversation, messages: readonly LoggedMessage[]): void {
  const { entries, byId } = conversation;
  let place: number | undefined;
  for (const message of messages) {
    const known = byId.get(message.message_id);
    if (known) {
      if (known.state !== 'whole' || known.checkpointId !== message.checkpoint_id)
        replace(conversation, known, message);
      place = entries.lastIndexOf(known) + 1;
      continue;
    }
    const entry = toEntry(message);
    byId.set(entry.id, entry);
    noteCalls(conversation, entry.blocks);
    place = placeBehindDropped(entries, place ?? entries.length, entry);
    entries.splice(place, 0, entry);
    place++;
  }
}

/** The log has no dropped messages: what came into it later comes after them. */
function placeBehindDropped(entries: readonly Entry[], from: number, { timestamp }: Entry): number {
  let place = from;
  for (let next = entries[place]; next?.state === 'dropped' && next.timestamp < timestamp; next = entries[place])
    place++;
  return place;
}

/** Applies one event of a run. The same event may come again; events of one run come in order. */
export function applyEvent(conversation: Conversation, event: RunEvent): void {
  const { run } = conversation;
  const now = run?.runId === event.run_id ? run : startOf(event.run_id);
  switch (event.event) {
    case 'metadata':
      dropStreaming(conversation, ({ runId }) => runId === event.run_id, 'remove');
      conversation.run = startOf(event.run_id);
      break;
    case 'on_chain_start':
      conversation.run = { ...now, status: 'running' };
      break;
    case 'on_chain_stream':
      conversation.run = nodeEvent(conversation, now, event);
      break;
    case 'messages_chunk':
      addChunk(conversation, event);
      break;
    case 'state_chunk':
      conversation.run = { ...now, state: { ...now.state, ...event.state } };
      break;
    case 'summary_chunk':
      conversation.run = { ...now, summary: String(event.data) };
      break;
    // The page asks for no more than the events.
    case 'tasks':
    case 'values':
    case 'context_chunk':
      break;
    case 'on_chain_end':
    case 'error':
      dropStreaming(conversation, ({ runId }) => runId === event.run_id, 'mark');
      conversation.run = endOf(now, event);
      placeQuestions(conversation);
  }
}

const startOf = (runId: string): RunState => ({ runId, status: 'queued', restarts: 0 });

interface NodeStatus {
  readonly node: string;
  readonly step: number;
  readonly status: string;
  readonly wake_at?: string;
}

function nodeEvent(conversation: Conversation, run: RunState, { run_id: runId, data }: RunEvent): RunState {
  const { node, step, status, wake_at: wakeAt } = data as NodeStatus;
  const { wakeAt: _, ...awake } = run;
  if (status === 'sleeping') return { ...awake, status: 'sleeping', node, ...(wakeAt !== undefined && { wakeAt }) };
  if (status === 'restarted') {
    const isVoid = (origin: Origin): boolean => origin.runId === runId && origin.step === step && origin.node === node;
    dropStreaming(conversation, isVoid, 'remove');
    return { ...awake, status: 'running', node, restarts: run.restarts + 1 };
  }
  return status === 'started' ? { ...awake, status: 'running', node } : run;
}

/** The next part of a message, or its end. */
function addChunk(conversation: Conversation, event: RunEvent): void {
  const id = String(event.metadata['message_id']);
  const known = conversation.byId.get(id);
  if (event.message) {
    if (known) replace(conversation, known, event.message);
    else mergePage(conversation, [event.message]);
    return;
  }
  // The log was read before: the message is there as a whole.
  if (known?.state === 'whole') return;
  const entry = known ?? open(conversation, id, event);
  entry.blocks = withChunk(entry.blocks, event.data);
  entry.revision++;
}

function open(conversation: Conversation, id: string, event: RunEvent): Entry {
  const { role, step, node } = event.metadata;
  const entry: Entry = {
    ...{ id, role: (role ?? 'assistant') as Entry['role'], blocks: [], timestamp: event.timestamp },
    ...{ checkpointId: undefined, state: 'streaming', revision: 0 },
    origin: { runId: event.run_id, step, node },
  };
  conversation.entries.push(entry);
  conversation.byId.set(id, entry);
  return entry;
}

/** Text and thoughts continue the block before them when it is of their kind. */
function withChunk(blocks: readonly Block[], chunk: unknown): readonly Block[] {
  const block: Block = typeof chunk === 'string' ? { type: 'text', text: chunk } : (chunk as Block);
  const last = blocks.at(-1);
  const grows = last?.type === block.type && (block.type === 'text' || block.type === 'reasoning');
  if (!grows || typeof last['text'] !== 'string' || typeof block['text'] !== 'string') return [...blocks, block];
  return [...blocks.slice(0, -1), { ...last, text: last['text'] + block['text'] }];
}

/** The log keeps each chunk of a thought as a block of its own: they are read as one. */
function withThoughtsJoined(blocks: readonly Block[]): readonly Block[] {
  if (!blocks.some(({ type }, index) => type === 'reasoning' && blocks[index - 1]?.type === 'reasoning')) return blocks;
  const joined: Block[] = [];
  for (const block of blocks) {
    const last = joined.at(-1);
    if (last?.type === 'reasoning' && block.type === 'reasoning') joined.push(...withChunk(joined.splice(-1), block));
    else joined.push(block);
  }
  return joined;
}

/** Messages that will get no end: `remove` takes them away, `mark` leaves them on the page and says so. */
function dropStreaming(conversation: Conversation, isVoid: (origin: Origin) => boolean, how: 'remove' | 'mark'): void {
  const { entries, byId } = conversation;
  for (let index = entries.length - 1; index >= 0; index--) {
    const entry = entries[index];
    if (entry?.state !== 'streaming' || !entry.origin || !isVoid(entry.origin)) continue;
    if (how === 'mark') {
      entry.state = 'dropped';
      entry.revision++;
    } else {
      entries.splice(index, 1);
      byId.delete(entry.id);
    }
  }
}

function endOf(run: RunState, { event, data }: RunEvent): RunState {
  const { wakeAt: _, node: __, ...rest } = run;
  if (event === 'error') return { ...rest, status: 'failed', error: data as NonNullable<RunState['error']> };
  return { ...rest, ...resultOf(data as RunResult) };
}

/** What a result says of its run. */
export function resultOf(result: RunResult): Omit<RunState, 'restarts'> {
  const { messages, meta, iterations, recursion_limit_reached: isLimitReached, metadata, state, summary } = result;
  return {
    runId: meta.run_id,
    status: meta.status,
    iterations,
    isLimitReached,
    ...(metadata.usage && { usage: metadata.usage }),
    ...(meta.interrupts && { interrupts: meta.interrupts }),
    ...(meta.status === 'interrupted' && { calls: messages.flatMap(remoteCallsIn) }),
    ...(state && { state }),
    ...(summary !== undefined && { summary }),
  };
}

/** Whether a run has not ended. */
export const isUnderWay = (status: RunState['status'] | undefined): boolean =>
  status === 'queued' || status === 'running' || status === 'sleeping';
