import type { RunEvent, RunScope } from '@agent-workflow/protos/execution';
import { taskIdOf } from '../ids/task-id.ts';
import { createEventFrames } from './event-frames.ts';
import type { Frame } from './frame.ts';
import { createInnerFrames } from './inner-frames.ts';
import { createMessageFrames } from './message-frames.ts';
import type { Modes } from './modes.ts';
import { createRunStory, failureIn, type RunRecord } from './run-story.ts';
import { createStepFrames, deltasOf } from './step-frames.ts';

interface RunFramesOptions {
  readonly modes: Modes;
  readonly scope: RunScope;
  readonly graphId: string;
  /** Its assistant, and the metadata of its request. */
  readonly about: { readonly assistantId: string; readonly metadata?: Readonly<Record<string, unknown>> | undefined };
  readonly record: RunRecord;
}

/** Metadata of a request that are larger, in bytes of JSON, stand in no frame: each chunk of a model's message would repeat them. */
const mostRepeated = 4 * 1024;

const repeated = (metadata: Readonly<Record<string, unknown>> = {}): object =>
  Buffer.byteLength(JSON.stringify(metadata)) > mostRepeated ? {} : metadata;

/** Makes the frames of a run in the modes that a stream asks for. */
export function createRunFrames({
  modes,
  scope,
  graphId,
  about: { assistantId, metadata: given },
  record,
}: RunFramesOptions) {
  const { runId, threadId } = scope;
  const own = { created_by: 'system', graph_id: graphId, assistant_id: assistantId, run_attempt: 1 };
  const metadata = { ...repeated(given), ...own, thread_id: threadId, run_id: runId };
  const taskId = (step: number, node: string, index?: number): string => taskIdOf({ of: runId, at: step }, node, index);
  const ofNode = createMetadata(metadata, taskId);
  const inner = createInnerFrames({ modes, taskId, metadata });
  const metadataOf = (event: RunEvent): string => {
    const place = inner.placeOf(event);
    return place ? JSON.stringify(place.metadata) : ofNode(event);
  };
  const ids = { run_id: runId, thread_id: threadId, graph_id: graphId, assistant_id: assistantId };
  const steps = createStepFrames({ modes, ids, taskId, metadata: JSON.stringify(metadata) });
  const messages = createMessageFrames(modes, metadataOf);
  const events = modes.has('events') ? createEventFrames({ runId, graphId, metadataOf, taskId }) : undefined;
  const needsPlaces = modes.has('checkpoints') || modes.has('debug');
  const needsValues = needsPlaces || modes.has('values') || modes.has('tasks') || events !== undefined;
  const needsSteps = needsValues || modes.has('updates');

  return createRunStory<Frame>(
    {
      ...{ needsPlaces, needsValues, needsSteps },
      first: async () => {
        if (needsSteps) steps.giveOut(await record.output());
        return [{ name: 'metadata', data: JSON.stringify({ run_id: runId, attempt: 1 }) }];
      },
      begun: (event, beginning) => [
        ...(events ? [events.begun(event, beginning?.values.text() ?? 'null')] : []),
        ...(beginning ? steps.begun(event.at, needsPlaces ? beginning : { ...beginning, place: undefined }) : []),
      ],
      started: (event, task, values) => [
        ...steps.started(event, task, values),
        ...(events && task.index === 0 ? [events.started(event, values?.text() ?? 'null')] : []),
      ],
      reported: (_, data) => (modes.has('custom') ? [{ name: 'custom', data }] : []),
      ended: (event, change, place, values) => [
        ...steps.ended(change, place, values),
        ...(events ? deltasOf(change).flatMap(({ node, json }) => events.completed({ ...event, node }, json)) : []),
      ],
      inner: inner.inner,
      message: (event) => {
        const place = inner.placeOf(event);
        const made = messages(event);
        const frames = place ? made.map((frame) => ({ ...frame, name: `${frame.name}|${place.namespace}` })) : made;
        return events ? [...frames, ...events.message(event)] : frames;
      },
      finished: (event, { asked, step }, values) => [
        ...(asked ? steps.asked(asked, { ...step, at: event.at }, values) : []),
        ...(events ? [events.ended(event, values?.text() ?? 'null')] : []),
      ],
      failed: (event, step) => {
        const error = failureIn(event);
        const { node, at } = event;
        return [
          ...(node === undefined ? [] : steps.failed(node, { step, at }, error)),
          { name: 'error', data: JSON.stringify(error) },
        ];
      },
    },
    record,
  );
}

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
