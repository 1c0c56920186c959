import { partsOfData } from '@agent-workflow/protos/event-parts';
import type { RunEvent, RunScope } from '@agent-workflow/protos/execution';
import type { Message } from '@agent-workflow/protos/message';
import { jsonText } from '../../../http/json.ts';
import { taskIdOf } from '../ids/task-id.ts';
import { createEventFrames } from './event-frames.ts';
import type { Frame } from './frame.ts';
import { growingValues, type GrowingValues } from './growing-values.ts';
import { createMessageFrames } from './message-frames.ts';
import type { Modes } from './modes.ts';
import { createStepFrames, deltasOf, fieldsIn, type Asked, type StepPlace } from './step-frames.ts';

/** A state from which a run began, and its checkpoint. */
export interface Beginning {
  readonly values: GrowingValues;
  readonly place: StepPlace | undefined;
}

/** What stands in the record and not in the events of a run. */
export interface RunRecord {
  /** `undefined`: it is not kept any more. */
  readonly beginning: () => Promise<Beginning | undefined>;
  /** Where a step stands; `undefined`: it is not kept. */
  readonly placeOf: (step: number) => Promise<StepPlace | undefined>;
  /** What a run asks that has ended. */
  readonly interrupts: () => Promise<readonly Asked[]>;
}

interface RunFramesOptions {
  readonly modes: Modes;
  readonly scope: RunScope;
  readonly graphId: string;
  readonly assistantId: string;
  readonly record: RunRecord;
}

interface Progress {
  readonly node: string;
  readonly step: number;
  readonly status: string;
  readonly custom?: unknown;
}

/** A step whose last node has completed. Whether it asked instead is known with the next event. */
interface Held {
  readonly event: RunEvent;
  readonly nodes: readonly string[];
}

/**
 * Makes the frames of a run, event by event and from its first. Its memory is the values of the state, where a mode needs them, and the messages
 * that are under way.
 */
export function createRunFrames({ modes, scope, graphId, assistantId, record }: RunFramesOptions) {
  const { runId, threadId } = scope;
  const about = { created_by: 'system', graph_id: graphId, assistant_id: assistantId, run_attempt: 1 };
  const metadata = { ...about, thread_id: threadId, run_id: runId };
  const taskId = (step: number, node: string): string => taskIdOf(runId, String(step), node);
  const metadataOf = createMetadata(metadata, taskId);
  const ids = { run_id: runId, thread_id: threadId, graph_id: graphId, assistant_id: assistantId };
  const steps = createStepFrames({ modes, ids, taskId, metadata: JSON.stringify(metadata) });
  const messages = createMessageFrames(modes, metadataOf);
  const events = modes.has('events') ? createEventFrames({ runId, graphId, metadataOf, taskId }) : undefined;
  const needsPlaces = modes.has('checkpoints') || modes.has('debug');
  const needsValues = needsPlaces || modes.has('values') || modes.has('tasks') || events !== undefined;

  let values: GrowingValues | undefined;
  let open = new Set<string>();
  let nodes: string[] = [];
  let changed = emptyChange();
  const makers = new Map<string, string>();
  let held: Held | undefined;

  const note = (event: RunEvent): void => {
    if (event.node !== undefined && event.messageId !== undefined) makers.set(event.messageId, event.node);
    if (event.kind === 'state_chunk') changed.fields = { ...changed.fields, ...fieldsIn(event) };
    if (event.kind === 'summary_chunk') changed.fields = { ...changed.fields, context_summary: jsonText(event.data) };
    if (event.kind !== 'context_chunk') return;
    const { messages: added = [], removed = [] } = JSON.parse(jsonText(event.data)) as Partial<ContextChange>;
    changed.messages.push(...added);
    changed.removed.push(...removed);
  };

  const flush = async (): Promise<Frame[]> => {
    if (!held) return [];
    const { event, nodes: ended } = held;
    held = undefined;
    const { step = 0, at } = event;
    values?.changeMessages(changed);
    values?.changeFields(changed.fields);
    const change = {
      ...{ step, at, nodes: ended, fields: changed.fields },
      messages: changed.messages.map((message) => [message, makers.get(message.message_id)] as const),
    };
    changed = emptyChange();
    makers.clear();
    const place = needsPlaces ? await record.placeOf(step) : undefined;
    const ends = deltasOf(change).flatMap(([node, json]) => events?.completed({ ...event, node }, json) ?? []);
    return [...steps.ended(change, place, values), ...ends];
  };

  const begin = async (event: RunEvent): Promise<Frame[]> => {
    const beginning = needsValues ? await record.beginning() : undefined;
    values = beginning?.values;
    if (!values) return events ? [events.begun(event, 'null')] : [];
    const first = steps.begun(event.at, needsPlaces ? beginning?.place : undefined, values);
    return events ? [events.begun(event, values.text()), ...first] : first;
  };

  const advance = (event: RunEvent): Frame[] => {
    const { node, step, status, custom } = JSON.parse(jsonText(event.data)) as Progress;
    switch (status) {
      case 'started':
        open.add(node);
        nodes.push(node);
        return [...steps.started(event, values), ...(events ? [events.started(event, values?.text() ?? 'null')] : [])];
      case 'progress':
        return modes.has('custom') ? [{ name: 'custom', data: JSON.stringify(custom ?? null) }] : [];
      case 'completed':
        open.delete(node);
        if (open.size > 0) return [];
        held = { event: { ...event, step }, nodes };
        open = new Set();
        nodes = [];
        return [];
      default:
        return [];
    }
  };

  const end = async (event: RunEvent): Promise<Frame[]> => {
    const asked = await record.interrupts();
    const isAsking = asked.length > 0;
    const isStepOfIt = held?.nodes.some((node) => asked.some((question) => question.node === node)) === true;
    const step = held?.event.step ?? 0;
    if (isAsking && isStepOfIt) held = undefined;
    const before = await flush();
    if (!values && needsValues) values = valuesAtEnd(event);
    const last = isAsking ? steps.asked(asked, { step, at: event.at }, values) : [];
    return [...before, ...last, ...(events ? [events.ended(event, values?.text() ?? 'null')] : [])];
  };

  return async (event: RunEvent): Promise<Frame[]> => {
    switch (event.kind) {
      case 'metadata':
        return [{ name: 'metadata', data: JSON.stringify({ run_id: runId, attempt: 1 }) }];
      case 'on_chain_start':
        return begin(event);
      case 'on_chain_end':
        return end(event);
      case 'error':
        return [...(await flush()), { name: 'error', data: errorText(event) }];
    }
    const before = await flush();
    note(event);
    if (event.kind === 'on_chain_stream') return [...before, ...advance(event)];
    return [...before, ...messages(event), ...(events && event.kind === 'messages_chunk' ? events.message(event) : [])];
  };
}

interface ContextChange {
  readonly messages: readonly Message[];
  readonly removed: readonly string[];
}

const emptyChange = (): { messages: Message[]; removed: string[]; fields: Readonly<Record<string, string>> } => ({
  messages: [],
  removed: [],
  fields: {},
});

/** What frames say about their node; that of one node is made once. */
function createMetadata(metadata: object, taskId: (step: number, node: string) => string) {
  let last: { readonly key: string; readonly text: string } | undefined;
  return ({ step = 0, node }: RunEvent): string => {
    const key = `${String(step)} ${node ?? ''}`;
    if (last?.key === key) return last.text;
    const namespace = node === undefined ? '' : `${node}:${taskId(step, node)}`;
    const ofNode = node !== undefined && {
      langgraph_step: step,
      langgraph_node: node,
      langgraph_triggers: [`branch:to:${node}`],
      langgraph_path: ['__pregel_pull', node],
      langgraph_checkpoint_ns: namespace,
      checkpoint_ns: namespace,
    };
    last = { key, text: JSON.stringify({ ...metadata, ...ofNode }) };
    return last.text;
  };
}

/** The values that the end of a run holds. */
export function valuesAtEnd(event: RunEvent): GrowingValues | undefined {
  const { state } = JSON.parse(Buffer.concat(partsOfData(event)).toString('utf8')) as {
    readonly state?: Readonly<Record<string, unknown>> & { readonly context?: readonly Message[] };
  };
  if (!state) return undefined;
  const { context = [], context_summary: summary, ...fields } = state;
  const shown = { ...fields, ...(typeof summary === 'string' && summary !== '' && { context_summary: summary }) };
  return growingValues(
    Object.fromEntries(Object.entries(shown).map(([name, value]) => [name, JSON.stringify(value)])),
    context,
  );
}

function errorText({ data }: RunEvent): string {
  const { code, message } = JSON.parse(jsonText(data)) as { readonly code: string; readonly message: string };
  return JSON.stringify({ error: code, message });
}
