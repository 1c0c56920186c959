import { sizes } from '@agent-workflow/kit/sizes';
import type { UpdateStateRequest } from '@agent-workflow/protos/execution';
import type { State } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { invalidAt, type Loc } from '../../../http/fields.ts';
import { jsonText } from '../../../http/json.ts';
import { boundedBytes } from '../../common/bounded.ts';
import type { Services } from '../../common/services.ts';
import { fromUpdate, isObject } from '../in/values.ts';
import { asSent } from '../replies/as-sent.ts';
import type { UpdateInput } from '../schemas/threads.ts';

interface Params {
  readonly thread_id: string;
}

type Updating = Pick<EndpointRequest<Params>, 'owner' | 'params' | 'idempotency' | 'call'>;
type Calls = Pick<Services, 'threads' | 'execution'>;

interface Superstep {
  readonly updates: readonly UpdateInput[];
}

/** An update as the service makes it. */
interface ReadUpdate {
  readonly changes: Changes;
  readonly node: string | undefined;
  readonly loc: Loc;
}

/** What an update writes. */
export type Changes = Pick<UpdateStateRequest, 'stateJson' | 'removedFromContext' | 'settles'>;

/** Reads the updates of each step. @throws Invalid at the first that the service cannot make */
export const readSupersteps = (steps: readonly Superstep[]): readonly ReadUpdate[] =>
  steps.flatMap(({ updates }, step) =>
    updates.map((update, index) => {
      const loc = ['body', 'supersteps', step, 'updates', index];
      return { changes: readUpdate(update, loc), node: update.as_node, loc };
    }),
  );

/** Writes updates in turn. What comes next is that of the last one. */
export async function applyUpdates(request: Updating, updates: readonly ReadUpdate[], services: Calls): Promise<void> {
  for (const [index, { changes, node, loc }] of updates.entries()) {
    if (index === updates.length - 1) await settling(request, { node }, services, loc);
    const { onceKey } = request.idempotency;
    const own = onceKey === undefined ? {} : { onceKey: `${onceKey}/${String(index)}` };
    await applyUpdate({ ...request, idempotency: own }, { ...changes, loc }, services);
  }
}

/** The values of an update as they are written. @throws Invalid for one that the service cannot make: it is read before anything is changed */
export function readUpdate({ values, command }: UpdateInput, loc: Loc): Changes {
  const given = command === undefined ? values : updateIn(command, [...loc, 'command']);
  const { messages, fields, removed } = fromUpdate(given ?? {}, [...loc, 'values']);
  const state = { ...fields, ...(messages.length > 0 && { context: messages }) };
  const stateJson = boundedBytes(state, [...loc, 'values'], sizes.state);
  return { stateJson, ...(removed.length > 0 && { removedFromContext: removed }) };
}

/** Passes values through the reducers of their fields. @throws Conflict where the thread has another version than is expected */
export const applyUpdate = (
  { owner, params, idempotency, call }: Updating,
  { loc = ['body'], ...update }: Update,
  { execution }: Calls,
): Promise<State> =>
  execution
    .updateState({ owner, threadId: params.thread_id, ...update, ...idempotency }, call())
    .catch(asSent({ state: [...loc, 'values'] }));

interface Update extends Changes {
  readonly expectedVersion?: number;
  /** Where it stands in the request; absent: it is the body. */
  readonly loc?: Loc;
}

function updateIn(command: Readonly<Record<string, unknown>>, loc: Loc): unknown {
  const other = Object.entries(command).find(([name, value]) => name !== 'update' && value !== null);
  if (other) throw invalidAt([...loc, other[0]], 'is not supported in an update of a state');
  return isObject(command['update']) ? command['update'] : {};
}

interface Drawing {
  readonly nodes: readonly { readonly id: string }[];
  readonly edges: readonly { readonly source: string; readonly target: string; readonly conditional?: boolean }[];
}

const start = '__start__';
const end = '__end__';

/**
 * What an update in the place of a node changes in what comes next: nothing, where that is what follows the node, or what the thread waits at;
 * where nothing follows the node, the thread waits for nothing more.
 * @throws Invalid for any other node: no node runs by an update
 */
export async function settling(
  { owner, params, call: begin }: Pick<Updating, 'owner' | 'params' | 'call'>,
  { node, checkpointId }: { readonly node: string | undefined; readonly checkpointId?: string | undefined },
  { threads, execution }: Calls,
  loc: Loc = ['body'],
): Promise<Pick<Changes, 'settles'>> {
  if (node === undefined || node === start) return {};
  if (node === end) return { settles: true };
  const call = begin();
  const { threadId, agent } = await threads.getThread({ owner, threadId: params.thread_id }, call);
  const { graphJson } = await execution.getGraph(agent === undefined ? {} : { agent }, call);
  const { nodes, edges } = JSON.parse(jsonText(graphJson)) as Drawing;
  const at = [...loc, 'as_node'];
  if (!nodes.some(({ id }) => id === node)) throw invalidAt(at, `the graph has no node "${node}"`.slice(0, 300));
  const own = edges.filter(({ source }) => source === node);
  const following = new Set(own.map(({ target }) => target).filter((target) => target !== end));
  if (following.size === 0) return { settles: true };
  const checkpoint =
    checkpointId === undefined
      ? (await threads.listCheckpoints({ owner, threadId, limit: 1, offset: 0 }, call)).checkpoints[0]
      : (await threads.getCheckpoint({ owner, threadId, checkpointId }, call)).checkpoint;
  const next = new Set(checkpoint?.next);
  const isNext = !own.some(({ conditional = false }) => conditional) && following.size === next.size;
  if (isNext && [...following].every((target) => next.has(target))) return {};
  throw invalidAt(
    at,
    'must be a node after which the graph ends, or comes where the thread waits, or __start__: no node runs by an update',
  );
}
