import type { EventKind } from '@agent-workflow/protos/event-parts';
import { Type } from '../../common/builders.ts';
import type { ExtraKind } from '../../../http/framing.ts';
import { words } from './common.ts';

const streamModes = ['tasks', 'values', 'debug'] as const;
export type StreamMode = (typeof streamModes)[number];

/** What a stream has beside the events of its run. */
export const StreamModes = Type.Array(
  words(streamModes, {
    description: 'What is sent beside the events',
    meanings: {
      tasks: 'how each step begins and ends, and what it changed',
      values: 'the whole state after each step, at most 1 MiB',
      debug: 'both',
    },
  }),
  {
    maxItems: streamModes.length,
    description:
      'What this stream has beside the events, from the record: `tasks` and `values` stand before the event that they belong to, and have no number. The caller may also need `checkpointer:read`. Default: nothing',
  },
);

/** What each kind of event means to a caller. */
export const eventMeanings: Readonly<Record<EventKind | ExtraKind, string>> = {
  metadata: 'the first event: which run and thread this is',
  on_chain_start: 'the run has started',
  on_chain_stream: 'a node has started, ended, or started again, or published its progress',
  messages_chunk: 'a chunk of a message, or its end with the whole message',
  state_chunk: 'the fields that a step has changed; not at granularity `low`',
  context_chunk: 'the messages that a step has changed in the context; not at granularity `low`',
  summary_chunk: 'the new summary; only at granularity `full`',
  on_chain_end: 'the last event of a run that did not fail: its result',
  error: 'the last event of a run that failed',
  tasks: 'a step begins or has ended; only with `stream_modes`, and without a number',
  values: 'the whole state after a step; only with `stream_modes`, and without a number',
};

interface EventForm {
  /** The form of `data`, in words. */
  readonly data: string;
  /** A `data` of this kind. */
  readonly example: unknown;
}

/** The `data` of each kind of event. */
export const eventForms: Readonly<Record<EventKind | ExtraKind, EventForm>> = {
  metadata: {
    data: 'An object with `request_id`, `thread_id`, `run_id` and `is_new_thread`. `rebuilt: true` when the events were lost or have expired and were made again from the record: their numbers are others, and messages come whole.',
    example: {
      request_id: '019a1f6e-8f00-7000-8000-000000000001',
      thread_id: 'support-42',
      run_id: '019a1f6e-8f00-7000-8000-000000000002',
      is_new_thread: true,
    },
  },
  on_chain_start: { data: 'An empty object.', example: {} },
  on_chain_stream: {
    data: 'An object with `node`, `step`, `status`, and `branch` where the node runs in several. `status` is `started`, `completed`, `restarted` with `attempt` (messages of this step that have not ended are void; after a failure of the node, or with `takeover: true` because its worker was lost; `attempt` is then how often workers have taken the run since its record last went on, else the number of the attempt at the node), `sleeping` with `wake_at`, `progress` with `custom`, which is what the node published, or `subgraph` with `inner`, what goes on in a sub-graph, where the run was started below `/langgraph` with `stream_subgraphs`.',
    example: { node: 'agent', step: 1, status: 'started' },
  },
  messages_chunk: {
    data: 'A text that continues the message of `metadata.message_id`, or a block that is not text. `""` with `message`, which holds the whole message, ends the message.',
    example: 'Good morn',
  },
  state_chunk: { data: 'An object of the changed fields; `state` holds the same.', example: { rounds: 2 } },
  context_chunk: {
    data: 'An object with `messages`, those added or replaced, and `removed`, the ids of those that were left out.',
    example: { messages: [], removed: ['question-1'] },
  },
  summary_chunk: { data: 'A text: the new summary.', example: 'The caller asked for the time.' },
  on_chain_end: {
    data: 'The result, as `data` of `POST /v1/graph/invoke` at this granularity. It also ends runs that were interrupted or stopped; `meta.status` says which.',
    example: {
      messages: [],
      all_messages: [],
      iterations: 1,
      recursion_limit_reached: false,
      metadata: {
        message: 'stopped',
        request_id: '019a1f6e-8f00-7000-8000-000000000001',
        timestamp: '2026-01-01T12:00:00.000Z',
      },
      meta: {
        thread_id: 'support-42',
        run_id: '019a1f6e-8f00-7000-8000-000000000002',
        is_new_thread: true,
        status: 'stopped',
      },
    },
  },
  error: {
    data: 'An object with `code`, `message`, and `node` when a node failed.',
    example: { code: 'NODE_ERROR', message: 'the node "agent" failed', node: 'agent' },
  },
  tasks: {
    data: 'Before a node runs: `step`, `node`, `status` (`started` or `restarted`), `attempt`, and `triggers`, the nodes of the step before. Before the end of a step: `status: "completed"` and the step, as `GET /v1/runs/{run_id}/steps/{step}` has it. Before `error`: `node`, `status: "failed"` and `error`.',
    example: { step: 1, node: 'agent', status: 'started', triggers: ['tools'] },
  },
  values: {
    data: 'An object with `step`, `checkpoint_id` and `state`. In place of the state stands `unavailable`: `too_large` (with `bytes`) over 1 MiB, or `not_kept`.',
    example: { step: 0, checkpoint_id: '1767268800000001', state: { rounds: 1, context: [], context_summary: '' } },
  },
};
