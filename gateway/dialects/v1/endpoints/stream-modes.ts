import { isServiceError } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { RunEvent, RunEvents } from '@agent-workflow/protos/execution';
import type { RunStep } from '@agent-workflow/protos/threads';
import type { ExtraKind, StreamEvent, StreamEvents } from '../../../http/framing.ts';
import type { Access } from '../../../http/access.ts';
import type { StreamExtras } from '../../../http/endpoint.ts';
import { jsonObject, jsonText } from '../../../http/json.ts';
import { fieldDefaults } from '../../common/graph-facts.ts';
import type { Services } from '../../common/services.ts';
import type { StreamMode } from '../schemas/events.ts';
import { stateText, truncationOf } from './state.ts';
import { stepMembers } from './steps.ts';

interface Wanted {
  readonly owner: string;
  readonly runId: string;
  readonly modes?: readonly StreamMode[] | undefined;
}

/** A larger state is named and not sent, in bytes. */
const largestState = 1024 * 1024;
/** After so many bytes of what is added, what was read of a run is given to its readers. */
const partBytes = 256 * 1024;

/** The steps of a run are read by `checkpointer:read`, wherever they stand. */
export const accessOfModes = ({
  stream_modes: modes = [],
}: {
  readonly stream_modes?: readonly StreamMode[];
}): readonly Access[] => (modes.length === 0 ? [] : [{ resource: 'checkpointer', action: 'read' }]);

/** What a reader of a run wants beside its events; `undefined`: nothing. */
export function streamExtras(services: Services, { owner, runId, modes = [] }: Wanted): StreamExtras | undefined {
  if (modes.length === 0) return undefined;
  const [tasks, values] = (['tasks', 'values'] as const).map((mode) => modes.includes(mode) || modes.includes('debug'));
  return {
    name: `${tasks ? 'tasks' : ''} ${values ? 'values' : ''}`,
    add: (open, after, call) => addSteps({ services, owner, runId, tasks, values, call }, open(after)),
  };
}

interface Adding extends Pick<Wanted, 'owner' | 'runId'> {
  readonly services: Pick<Services, 'threads' | 'execution'>;
  readonly tasks: boolean | undefined;
  readonly values: boolean | undefined;
  readonly call: Call;
}

/** The same events, each with what stands before it: a reader that is cut in between has the id of the event before. */
async function* addSteps(adding: Adding, source: AsyncIterable<RunEvents>): AsyncGenerator<StreamEvents> {
  const steps = createStepReader(adding);
  for await (const { events, scope } of source) {
    if (scope) steps.threadId = scope.threadId;
    let part: StreamEvent[] = [];
    let bytes = 0;
    let first = scope && { scope };
    for (const event of events) {
      const extras = await extrasOf(adding, steps, event);
      part.push(extras.length === 0 ? event : { ...event, extras });
      bytes += extras.reduce((sum, { data }) => sum + data.byteLength, 0);
      if (bytes < partBytes) continue;
      yield { events: part, ...first };
      part = [];
      bytes = 0;
      first = undefined;
    }
    if (part.length > 0 || first) yield { events: part, ...first };
  }
}

interface StepReader {
  threadId: string;
  /** The step of this number; `undefined` when it is not on record. */
  readonly at: (step: number) => Promise<RunStep | undefined>;
}

/** Keeps the step that was read last: the nodes of a step end together, and the next step names them. */
function createStepReader({ services, owner, runId, call }: Adding): StepReader {
  let last: RunStep | undefined;
  return {
    threadId: '',
    at: async (number) => {
      if (last?.step === number) return last;
      const { steps } = await services.threads.listRunSteps({ owner, runId, fromStep: number, limit: 1 }, call);
      const [step] = steps;
      if (step?.step !== number) return undefined;
      last = step;
      return step;
    },
  };
}

/** What `data` of `on_chain_stream` and `error` may have. */
interface Content {
  readonly status?: string;
  readonly attempt?: number;
  readonly node?: string;
}

async function extrasOf(adding: Adding, steps: StepReader, event: RunEvent): Promise<readonly RunEvent[]> {
  const { kind, step, node } = event;
  if (kind !== 'on_chain_stream' && kind !== 'error') return [];
  const content = JSON.parse(jsonText(event.data)) as Content;
  const extra = (extraKind: ExtraKind, members: Readonly<Record<string, string>>): RunEvent => ({
    ...{ seq: 0, kind: extraKind, at: event.at, data: Buffer.from(jsonObject(members)) },
    ...(step === undefined ? {} : { step }),
    ...(node === undefined ? {} : { node }),
  });
  if (kind === 'error')
    return adding.tasks && content.node !== undefined
      ? [extra('tasks', { ...membersOf({ node: content.node, status: 'failed' }), error: jsonText(event.data) })]
      : [];
  if (step === undefined || node === undefined) return [];
  if (content.status === 'completed') return endOf(adding, steps, { step, node, extra });
  if (!adding.tasks || (content.status !== 'started' && content.status !== 'restarted')) return [];
  const { status, attempt } = content;
  const before = step === 0 ? { nodes: [] } : await steps.at(step - 1);
  return [extra('tasks', membersOf({ step, node, status, attempt, triggers: before?.nodes ?? null }))];
}

const membersOf = (values: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, JSON.stringify(value)]])),
  );

interface Ended {
  readonly step: number;
  readonly node: string;
  readonly extra: (kind: ExtraKind, members: Readonly<Record<string, string>>) => RunEvent;
}

/** What stands before the end of a step, which is that of its last node. */
async function endOf(adding: Adding, steps: StepReader, { step: number, node, extra }: Ended): Promise<RunEvent[]> {
  const step = await steps.at(number);
  if (!step) return adding.values ? [extra('values', membersOf({ step: number, unavailable: 'not_kept' }))] : [];
  if (step.nodes.at(-1) !== node) return [];
  const ended: RunEvent[] = [];
  if (adding.tasks) ended.push(extra('tasks', { status: '"completed"', ...stepMembers(step) }));
  if (adding.values) ended.push(extra('values', await valuesAfter(adding, steps.threadId, step)));
  return ended;
}

async function valuesAfter(
  { services: { threads, execution }, owner, call }: Adding,
  threadId: string,
  { step, checkpointId }: RunStep,
): Promise<Readonly<Record<string, string>>> {
  const place = membersOf({ step, checkpoint_id: checkpointId });
  try {
    const { state } = await threads.getCheckpoint({ owner, threadId, checkpointId }, call);
    const { fields, contextJson } = state;
    const bytes = Object.values(fields).reduce((sum, json) => sum + json.byteLength, contextJson.byteLength);
    if (bytes > largestState) return { ...place, ...membersOf({ unavailable: 'too_large', bytes }) };
    return {
      ...place,
      state: stateText(state, await fieldDefaults(execution, state, call)),
      ...truncationOf(state),
    };
  } catch (error) {
    if (!isServiceError(error, 'NotFound')) throw error;
    return { ...place, unavailable: '"not_kept"' };
  }
}
