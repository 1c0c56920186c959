import type { RunEvent } from '@agent-workflow/protos/execution';
import type { EndStatus } from '@agent-workflow/protos/lists';
import type { Message } from '@agent-workflow/protos/message';
import { jsonText } from '../../../http/json.ts';
import { dataOf } from '../../common/event-data.ts';
import type { ToFrames } from '../../common/framed.ts';
import { toAgui } from '../messages/to-agui.ts';
import type { AguiEvent, ShownMessages } from './framing.ts';
import { createMessageEvents } from './message-events.ts';
import { toInterrupt, type Question } from './interrupts.ts';
import { createSubagents } from './subagents.ts';
import { toUsage, type UsageItem } from './usage.ts';

/** What a run began with. */
export interface Beginning {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly messages: readonly Message[];
}

/** How callers know a run. */
interface ShownRun {
  readonly runId: string;
  readonly threadId: string;
  /** The name that its caller gave it. */
  readonly name: string;
  readonly parentRunId?: string | undefined;
}

interface RunEventsOptions {
  readonly run: ShownRun;
  /** `undefined`: it is not kept any more. Where messages are not needed there may be none. */
  readonly beginning: (needsMessages: boolean) => Promise<Beginning | undefined>;
  /** Which messages the reader is shown first. */
  readonly shown: ShownMessages;
  /** The ids of the messages that the reader has; absent: they are not known. */
  readonly known?: ReadonlySet<string> | undefined;
  /** The nodes that are graphs themselves. */
  readonly subgraphs: ReadonlySet<string>;
  /** Whether the caller speaks an earlier version than 1.0: that knows no sub-agents, and goes on with tools of the page only where a success is not named. */
  readonly isEarlier: boolean;
}

interface Progress {
  readonly node: string;
  readonly status: string;
  readonly custom?: unknown;
}

interface LastData {
  readonly all_messages?: readonly Message[];
  readonly state?: Readonly<Record<string, unknown>>;
  readonly metadata?: { readonly usage?: UsageItem };
  readonly meta?: { readonly status?: EndStatus; readonly interrupts?: readonly Question[] };
  readonly messages?: readonly Message[];
}

/** Makes the events of AG-UI for each event of a run, from its first. Every message, call and step that was begun is ended before the run is. */
export function createRunEvents(options: RunEventsOptions): ToFrames<AguiEvent> {
  const { run, beginning, shown, known, subgraphs, isEarlier } = options;
  const { runId, threadId, name, parentRunId } = run;
  const messages = createMessageEvents();
  const steps = new Set<string>();
  const subagents = createSubagents(runId, isEarlier ? new Set() : subgraphs);
  let begun: Beginning | undefined;
  /** Whether messages of a step that ran again stand with the reader, which nobody will complete. */
  let hasLeft = false;

  const start = ({ at: timestamp }: RunEvent): AguiEvent => ({
    ...{ type: 'RUN_STARTED', timestamp, threadId, runId: name, protocolVersion: '1.0' },
    ...(parentRunId !== undefined && { parentRunId }),
    metadata: { run_id: runId },
  });

  const begin = async ({ at: timestamp }: RunEvent): Promise<AguiEvent[]> => {
    begun = await beginning(shown !== '');
    if (!begun) return [];
    const { fields, messages: found } = begun;
    const lacks = known === undefined || found.some((message) => isShown(message) && !known.has(message.message_id));
    return [
      { type: 'STATE_SNAPSHOT', timestamp, snapshot: fields },
      ...(lacks && shown === 'b' ? [snapshotOf(beforeInput(found), timestamp)] : []),
      ...(lacks && shown !== '' ? [snapshotOf(found, timestamp)] : []),
    ];
  };

  const close = (timestamp: number): AguiEvent[] => {
    const { events, isCut } = messages.close(timestamp);
    hasLeft ||= isCut;
    return events;
  };

  const endSteps = (timestamp: number): AguiEvent[] => {
    const ended = [...steps].map((stepName) => ({ type: 'STEP_FINISHED', timestamp, stepName }));
    steps.clear();
    return ended;
  };

  const advance = ({ data, at: timestamp }: RunEvent): AguiEvent[] => {
    const { node: stepName, status, custom = null } = JSON.parse(jsonText(data)) as Progress;
    switch (status) {
      case 'started':
        if (steps.has(stepName)) return [];
        steps.add(stepName);
        return [{ type: 'STEP_STARTED', timestamp, stepName }, ...subagents.begin(stepName, timestamp)];
      case 'restarted':
        return close(timestamp);
      case 'progress':
        return [{ type: 'CUSTOM', timestamp, ...reported(stepName, custom) }];
      case 'completed':
        return steps.delete(stepName)
          ? [...subagents.finish(stepName, timestamp), { type: 'STEP_FINISHED', timestamp, stepName }]
          : [];
      default:
        return [];
    }
  };

  const finish = async (event: RunEvent): Promise<AguiEvent[]> => {
    const { at: timestamp } = event;
    const last = dataOf(event) as LastData;
    const { state = {}, all_messages: added = [], meta = {}, metadata = {} } = last;
    const subagentsEnd =
      meta.status === 'stopped'
        ? { failure: { message: 'the run was stopped', code: 'CANCELLED' } }
        : { questions: meta.interrupts ?? [] };
    const ended = [...close(timestamp), ...subagents.end(subagentsEnd, timestamp), ...endSteps(timestamp)];
    const { context: _context, context_summary: _summary, ...fields } = state;
    const usage = toUsage(metadata.usage);
    const outcome = outcomeOf(meta, last.messages ?? []);
    const before = begun && hasLeft ? await beginning(true) : undefined;
    return [
      ...ended,
      ...(begun ? [] : [{ type: 'STATE_SNAPSHOT', timestamp, snapshot: fields }]),
      ...(before ? [snapshotOf([...before.messages, ...added], timestamp)] : []),
      {
        ...{ type: 'RUN_FINISHED', timestamp, threadId, runId: name },
        ...((!isEarlier || outcome.type !== 'success') && { outcome }),
        ...(usage.length > 0 && { usage }),
      },
    ];
  };

  return (event) => {
    const { at: timestamp } = event;
    switch (event.kind) {
      case 'metadata':
        return [start(event)];
      case 'on_chain_start':
        return begin(event);
      case 'on_chain_stream':
        return advance(event);
      case 'messages_chunk':
        return messages.of(event, subagents.of(event.node));
      case 'state_chunk':
        return [{ type: 'STATE_DELTA', timestamp, delta: patchOf(jsonText(event.data)) }];
      case 'on_chain_end':
        return finish(event);
      case 'error': {
        const { code, message } = JSON.parse(jsonText(event.data)) as {
          readonly code: string;
          readonly message: string;
        };
        return [
          ...close(timestamp),
          ...subagents.end({ failure: { message, code } }, timestamp),
          ...endSteps(timestamp),
          { type: 'RUN_ERROR', timestamp, message, code },
        ];
      }
      default:
        return [];
    }
  };
}

const isShown = (message: Message): boolean => toAgui(message).length > 0;

/** Messages without those behind the last one of the agent. */
const beforeInput = (messages: readonly Message[]): readonly Message[] =>
  messages.slice(0, messages.findLastIndex(({ role }) => role === 'assistant') + 1);

const snapshotOf = (messages: readonly Message[], timestamp: number): AguiEvent => ({
  ...{ type: 'MESSAGES_SNAPSHOT', timestamp },
  messages: messages.flatMap(toAgui),
});

/** The changed fields as a JSON Patch (RFC 6902): `add` also replaces a member that is there. */
const patchOf = (json: string): readonly object[] =>
  Object.entries(JSON.parse(json) as Readonly<Record<string, unknown>>).map(([field, value]) => ({
    ...{ op: 'add', path: `/${field.replaceAll('~', '~0').replaceAll('/', '~1')}`, value },
  }));

/** What a node reports: under the name of the node, and its own name where it gives one. */
function reported(node: string, custom: unknown): { readonly name: string; readonly value: unknown } {
  const given = typeof custom === 'object' && custom !== null ? (custom as { name?: unknown; payload?: unknown }) : {};
  return typeof given.name === 'string' && given.payload !== undefined
    ? { name: `${node}.${given.name}`, value: given.payload }
    : { name: `${node}.progress`, value: custom };
}

interface Outcome {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** How a run ended that did not fail. One that waits for tools of the page has ended well, with calls that are open. */
function outcomeOf({ status, interrupts = [] }: NonNullable<LastData['meta']>, replies: readonly Message[]): Outcome {
  if (status === 'stopped') return { type: 'cancelled' };
  const questions = interrupts.flatMap((question) => toInterrupt(question) ?? []);
  if (questions.length > 0) return { type: 'interrupt', interrupts: questions };
  const open =
    status === 'interrupted'
      ? replies.flatMap(({ content }) =>
          content.flatMap(({ type, id }) => (type === 'remote_tool_call' && typeof id === 'string' ? [id] : [])),
        )
      : [];
  return { type: 'success', ...(open.length > 0 && { pendingToolCallIds: open }) };
}
