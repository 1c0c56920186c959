import type { ExecutionContext } from 'ava';
import { textOf, type Message } from '@agent-workflow/graph';
import type { RunEvent } from '@agent-workflow/protos/execution';
import type { Granularity } from '@agent-workflow/protos/lists';
import { areWhole } from '../../numbers.ts';
import { toChunk, type Chunk } from './chunks.ts';

const terminal = new Set(['on_chain_end', 'error']);

/** Numbers without a gap, the two first events first, one terminal event and that one last, kinds by granularity. */
export function holdsOrder(t: ExecutionContext, events: readonly RunEvent[], granularity: Granularity): void {
  t.true(areWhole(events.map(({ seq }) => seq)));
  t.deepEqual(
    events.slice(0, 2).map(({ kind }) => kind),
    ['metadata', 'on_chain_start'],
  );
  t.deepEqual(
    events.flatMap(({ kind }, index) => (terminal.has(kind) ? [index] : [])),
    [events.length - 1],
  );
  const left = { low: /^(state|context|summary)_chunk$/, partial: /^summary_chunk$/, full: /^$/ }[granularity];
  t.false(events.some(({ kind }) => left.test(kind)));
  for (const event of events) {
    const chunk = toChunk(event);
    t.is(chunk.event, event.kind);
    t.is(new Date(chunk.timestamp).toISOString(), chunk.timestamp);
  }
}

/** What is streamed of each message is its text, and each is there whole exactly once, after its chunks. */
export function holdsMessages(t: ExecutionContext, chunks: readonly Chunk[], messages: readonly Message[]): void {
  const published = chunks.filter(({ event }) => event === 'messages_chunk');
  t.deepEqual(
    published.flatMap(({ message }) => message ?? []),
    messages,
  );
  for (const message of messages) {
    const mine = published.filter(({ metadata }) => metadata.message_id === message.message_id);
    t.is(mine.map(({ data }) => (typeof data === 'string' ? data : '')).join(''), textOf(message));
    t.deepEqual(
      mine.flatMap(({ data }) => (typeof data === 'string' ? [] : [data])),
      message.content.filter(({ type }) => type !== 'text'),
    );
    t.deepEqual(
      mine.map((chunk) => chunk.message !== undefined),
      mine.map((_, index) => index === mine.length - 1),
    );
    t.is(mine.at(-1)?.data, '');
    t.true(mine.every(({ metadata }) => metadata.role === message.role));
  }
  t.is(
    published.length,
    published.filter(({ metadata }) => messages.some((each) => each.message_id === metadata.message_id)).length,
  );
}
