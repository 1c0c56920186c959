import type { RunEvent } from '@agent-workflow/client';
import { withChunk } from './blocks.ts';
import {
  mergePage,
  noteTools,
  placeQuestions,
  replaceEntry,
  type Conversation,
  type Entry,
  type Origin,
} from './conversation.ts';
import { endOf, queuedRun, type RunState } from './run-state.ts';

/** Applies one event of a run. The same event may come again; events of one run come in order. */
export function applyEvent(conversation: Conversation, event: RunEvent): void {
  const { run } = conversation;
  const now = run?.runId === event.run_id ? run : queuedRun(event.run_id);
  switch (event.event) {
    case 'metadata':
      takeAway(conversation, ({ runId }) => runId === event.run_id);
      conversation.run = queuedRun(event.run_id);
      break;
    case 'on_chain_start':
      conversation.run = { ...now, status: 'running', startedAt: event.timestamp };
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
      cutShort(conversation, event.run_id);
      conversation.run = endOf(now, event);
      placeQuestions(conversation);
  }
}

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
    takeAway(conversation, (origin) => origin.runId === runId && origin.step === step && origin.node === node);
    return { ...awake, status: 'running', node, restarts: run.restarts + 1 };
  }
  return status === 'started' ? { ...awake, status: 'running', node } : run;
}

/** The next part of a message, or its end. */
function addChunk(conversation: Conversation, event: RunEvent): void {
  const id = String(event.metadata['message_id']);
  const known = conversation.byId.get(id);
  if (event.message) {
    if (known?.state === 'streaming') moveToItsPlace(conversation, known);
    if (known) replaceEntry(conversation, known, event.message);
    else mergePage(conversation, [event.message]);
    return;
  }
  // The log was read before: the message is there as a whole.
  if (known?.state === 'whole') return;
  const entry = known ?? open(conversation, id, event);
  entry.blocks = withChunk(entry.blocks, event.data);
  entry.revision++;
  if (typeof event.data !== 'string') noteTools(conversation, entry, entry.blocks.slice(-1), event.timestamp);
}

function open(conversation: Conversation, id: string, event: RunEvent): Entry {
  const { role, step, node } = event.metadata;
  const entry: Entry = {
    ...{ id, role: (role ?? 'assistant') as Entry['role'], blocks: [], timestamp: event.timestamp },
    ...{ checkpointId: undefined, state: 'streaming', sender: undefined, isPartial: false, revision: 0 },
    origin: { runId: event.run_id, step, node },
  };
  conversation.entries.push(entry);
  conversation.byId.set(id, entry);
  return entry;
}

/** Branches stream beside each other; their whole messages come in the order of the thread: each stands before those that are to come. */
function moveToItsPlace({ entries }: Conversation, entry: Entry): void {
  const from = entries.lastIndexOf(entry);
  let place = from;
  for (let index = from - 1; index >= 0; index--) {
    const before = entries[index];
    if (before?.state !== 'streaming' || before.origin?.runId !== entry.origin?.runId) break;
    place = index;
  }
  if (place === from) return;
  entries.splice(from, 1);
  entries.splice(place, 0, entry);
}

/** Takes messages away that will get no end. */
function takeAway({ entries, byId }: Conversation, isVoid: (origin: Origin) => boolean): void {
  for (let index = entries.length - 1; index >= 0; index--) {
    const entry = entries[index];
    if (entry?.state !== 'streaming' || !entry.origin || !isVoid(entry.origin)) continue;
    entries.splice(index, 1);
    byId.delete(entry.id);
  }
}

/** The messages of a run that has ended before they did, and calls of tools that got no result. */
function cutShort({ entries, calls, results }: Conversation, runId: string): void {
  for (const entry of entries) {
    if (entry.state !== 'streaming' || entry.origin?.runId !== runId) continue;
    entry.state = 'cut';
    entry.revision++;
  }
  for (const [id, { entry }] of calls) if (!results.has(id)) entry.revision++;
}
